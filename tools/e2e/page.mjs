// Looks at the status page in chromium: 1280 and 390 px, light and dark, with and without JavaScript, in each world of
// worlds.mjs, or in those that E2E_WORLDS names, such as fine,stale. What the page shows is compared with what the
// commands print. node page.mjs PROGRAM CHROMIUM SCREENS
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { World, worlds } from "./worlds.mjs";

const [program, executablePath, screens] = process.argv.slice(2);
const modules = createRequire(join(process.env.E2E_MODULES, "package.json"));
const { chromium } = modules("playwright-core");
const axe = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const most = 60_000; // bytes of the page, with all that it loads
mkdirSync(screens, { recursive: true });

const failures = [];
let checks = 0;
const check = (where, ok, what) => { checks++; if (!ok) { failures.push(`${where}: ${what}`); console.log(`FAIL ${where}: ${what}`); } };

const number = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");

// wanted is what the page must have in it, by the documents of the commands.
async function wanted(w) {
  const screen = (await w.ingest(["quota"], [0, 69])).split("\n\n")[0].replace(/\s+/g, " ").trim();
  const doc = JSON.parse(await w.ingest(["quota", "--json"], [0, 69]));
  const slots = JSON.parse(await w.ingest(["slots", "--since", "24h", "--limit", "1000", "--json"])).slots;
  const texts = [screen.split(/[.:;] /)[0]];
  if (!doc.degraded) {
    const pool = doc.pools.find((p) => p.pool === "units"), scheduled = pool.purposes.find((p) => p.purpose === "scheduled");
    texts.push(`${number(scheduled.remaining)} left for charts`, `${number(Math.max(...pool.windows.map((win) => win.used)))} of ${number(pool.limit)} used`, `${number(scheduled.ceiling)} charts`);
    const sums = new Map();
    for (const s of doc.spent) sums.set(`${s.method} ${s.pool} ${s.purpose}`, (sums.get(`${s.method} ${s.pool} ${s.purpose}`) ?? 0) + s.amount);
    for (const [who, n] of sums) texts.push(new RegExp(`${who.split(" ")[2]} [^.]* ?(${who.split(" ")[0]} )?${number(n)} `));
  } else {
    texts.push("State cannot answer");
  }
  for (const region of ["US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"]) {
    const count = {};
    for (const s of slots) if (s.job === "chart" && s.region === region) count[s.outcome] = (count[s.outcome] ?? 0) + (s.count ?? 1);
    for (const [outcome, n] of Object.entries(count)) texts.push(new RegExp(`${region} [^.]*\\b${n} ${outcome}\\b`));
  }
  return texts;
}

const read = async (page) => (await page.evaluate(() => document.body.innerText)).replace(/\s+/g, " ");
const lacking = (text, texts) => texts.filter((t) => t instanceof RegExp ? !t.test(text) : !text.includes(t));

// look loads the page until it says what the commands say: what is due goes on meanwhile.
async function look(page, w, where) {
  let missing, text;
  for (let i = 0; i < 5; i++) {
    const before = await wanted(w);
    await page.goto(`${w.url}status`, { waitUntil: "load" });
    text = await read(page);
    if ((missing = lacking(text, before)).length === 0) break;
    await new Promise((done) => setTimeout(done, 5500)); // what the page remembers is 5 s old at most
  }
  check(where, missing.length === 0, `the page lacks ${missing.join(" | ")}\n${text}`);
  return text;
}

// accessible runs axe, whose timers need the page's JavaScript: the elements are the same without it.
async function accessible(page, where) {
  const found = await page.evaluate(`(() => { ${axe}; return axe.run(document, { resultTypes: ["violations"] }); })()`);
  check(where, found.violations.length === 0, found.violations.map((v) => `axe: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 5).join(", ")}`).join("\n"));
}

async function narrow(page, where) {
  const [has, wide, widest] = await page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    const over = [...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll") && e.getBoundingClientRect().right > room + 1);
    return [room, document.documentElement.scrollWidth, over.slice(0, 5).map((e) => e.outerHTML.slice(0, 120))];
  });
  check(where, wide <= has && widest.length === 0, `scrolls sideways: ${wide} of ${has} px: ${widest.join("\n")}`);
}

// alive: the page follows what is spent without a reload, and says so and fades when its server is gone.
async function alive(page, w, where) {
  const used = () => document.querySelector(".pool small").innerText;
  const before = await page.evaluate(used);
  await w.ingest(["quota", "post", "units", "3"], [0, 75]);
  let followed = false;
  for (const until = Date.now() + 60_000; !followed && Date.now() < until; await new Promise((done) => setTimeout(done, 200))) {
    followed = await page.evaluate(used) !== before;
  }
  check(where, followed, `still says ${before} a minute after 3 units more`);
  page.removeAllListeners("console"); // which would tell of each try
  await page.route("**", (route) => route.abort());
  const gone = Date.now();
  await page.waitForSelector("main.away", { timeout: 20_000 }).catch(() => {});
  check(where, await page.locator("#away").isVisible() && Date.now() - gone < 8_000, "does not say within a few seconds that its server is gone");
}

async function inWorld(browser, name) {
  const w = new World(name, program, worlds[name].clock !== "real");
  const began = Date.now();
  try {
    await w.begin();
    await worlds[name](w);
    await w.serve();
    for (const width of [1280, 390]) for (const colorScheme of ["light", "dark"]) for (const javaScriptEnabled of [true, false]) {
      const where = `${name} ${width} ${colorScheme}${javaScriptEnabled ? "" : " without JavaScript"}`;
      const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, javaScriptEnabled });
      const page = await context.newPage();
      const asked = new Map();
      page.on("console", (m) => { if (["error", "warning"].includes(m.type())) check(where, false, `console: ${m.text()}`); });
      page.on("pageerror", (err) => check(where, false, `script: ${err}`));
      page.on("dialog", (d) => { check(where, false, `dialog: ${d.message()}`); return d.dismiss(); });
      page.on("response", async (r) => asked.set(new URL(r.url()).pathname, (await r.body().catch(() => "")).length));
      await look(page, w, where);
      await narrow(page, where);
      if (javaScriptEnabled) await accessible(page, where);
      const first = await page.evaluate(() => document.querySelector(".tiles")?.getBoundingClientRect().bottom ?? 0);
      check(where, first < (width === 1280 ? 800 : 844), `the regions end at ${first} px: not all are on the first screen`);
      await page.screenshot({ path: join(screens, `${where.replaceAll(" ", "-")}.png`), fullPage: true });
      if (where === "fine 1280 light") await page.screenshot({ path: join(screens, "readme.png") });
      check(where, [...asked.keys()].every((path) => ["/status", "/style.css", "/script.js", "/icon.svg", "/livez"].includes(path)), `asks for ${[...asked.keys()]}`);
      const bytes = [...asked.values()].reduce((a, b) => a + b, 0);
      check(where, bytes > 0 && bytes < most, `${bytes} bytes`);
      if (javaScriptEnabled && colorScheme === "light" && name === "fine") await alive(page, w, where);
      if (width === 1280 && colorScheme === "light" && javaScriptEnabled) console.log(`${name}: ${await page.evaluate(() => document.querySelector("h1").innerText)} (${bytes} bytes)`);
      await context.close();
    }
  } finally {
    await w.end();
  }
  console.log(`${name}: ${((Date.now() - began) / 1000).toFixed(0)} s`);
}

const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
try {
  for (const name of process.env.E2E_WORLDS?.split(",") ?? Object.keys(worlds)) await inWorld(browser, name);
} finally {
  await browser.close();
}
console.log(`${checks} checks, ${failures.length} failed; screenshots in ${screens}`);
process.exit(failures.length === 0 ? 0 : 1);
