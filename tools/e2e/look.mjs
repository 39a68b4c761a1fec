// Looks at the pages in chromium: charts, a video, a search and the status; at 1280 and 390 px, light and dark, with and
// without JavaScript, in each world of worlds.mjs, or in those that E2E_WORLDS names, such as fresh,starved. What a page
// shows is compared with what the commands print (pages.mjs). node look.mjs PROGRAM CHROMIUM SCREENS
import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, alive, byKeyboard, even, firstOnPhone, keys, narrow, onFirstScreen, pickers, takenAway, zones } from "./checks.mjs";
import { invisible, pages, plain, rowsOf } from "./pages.mjs";
import { World, worlds } from "./worlds.mjs";

const [program, executablePath, screens] = process.argv.slice(2);
const modules = createRequire(join(process.env.E2E_MODULES, "package.json"));
const { chromium } = modules("playwright-core");
const axe = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const most = 45_000; // bytes of a page as it is sent, with all that it loads besides pictures
const sizes = { 1280: 800, 390: 844 };
mkdirSync(screens, { recursive: true });

// What docs show, if E2E_DOCS names their directory: the first screen of a page in a world, and the name of its picture.
const docs = {
  "fresh charts 1280 light": "charts-page", "fresh charts 390 light": "charts-page-narrow", "fresh video 1280 light": "video-page",
  "fresh search 1280 light": "search-page", "fresh status 1280 light": "status-page", "fresh status 390 dark": "status-page-narrow", "starved status 1280 dark": "status-page-starved",
};

const failures = [];
let checks = 0;
const checkIn = (where) => (ok, what) => { checks++; if (!ok) { failures.push(`${where}: ${what}`); console.log(`FAIL ${where}: ${what}`); } };

const read = async (page) => (await page.evaluate(() => document.body.innerText)).replace(/\s+/g, " ");

// lacks compares a page with what it must show, and returns what it lacks.
async function lacks(page, code, want) {
  const text = await read(page), packed = text.replace(invisible, "");
  const missing = want.texts.filter((t) => t instanceof RegExp ? !t.test(text) : want.spaceless?.includes(t) ? !packed.includes(t) : !text.includes(t)).map(String);
  if (!(want.codes ?? [200]).includes(code)) missing.push(`the code ${want.codes ?? 200}: it is ${code}`);
  const rows = (await page.evaluate(rowsOf)).map((r) => ({ ...r, title: plain(r.title) }));
  for (const [i, row] of (want.rows ?? []).entries()) {
    if (JSON.stringify(rows[i]) !== JSON.stringify(row)) missing.push(`row ${i + 1}: ${JSON.stringify(row)}: it is ${JSON.stringify(rows[i])}`);
  }
  if (want.rows && rows.length !== want.rows.length) missing.push(`${want.rows.length} rows: it has ${rows.length}`);
  return missing.slice(0, 5);
}

// look loads a page until it says what the commands say: what is due goes on meanwhile, so they are asked again.
async function look(page, w, name, check) {
  for (let left = 5; ; left--) {
    const want = w.wanted[name] ??= await pages[name].wanted(w);
    const code = (await page.goto(`${w.site}${pages[name].path(w)}`, { waitUntil: "load" })).status();
    const missing = await lacks(page, code, want);
    if (missing.length === 0 || left === 0) {
      check(missing.length === 0, `the page lacks ${missing.join(" | ")}`);
      return code;
    }
    w.wanted[name] = null;
    await new Promise((done) => setTimeout(done, 2500)); // what the page remembers is 5 s old at most
  }
}

// firstPaint is the first contentful paint in milliseconds, the least of three on a machine that does more than this.
async function firstPaint(page) {
  let least = Infinity;
  for (let i = 0; i < 3; i++) {
    await page.reload({ waitUntil: "load" });
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    least = Math.min(least, await (await page.waitForFunction(painted)).jsonValue());
  }
  return least;
}

async function inContext(browser, w, width, colorScheme, javaScriptEnabled) {
  const context = await browser.newContext({ viewport: { width, height: sizes[width] }, colorScheme, javaScriptEnabled });
  const usual = width === 1280 && colorScheme === "light" && javaScriptEnabled;
  for (const name of Object.keys(pages)) {
    const where = `${w.name} ${name} ${width} ${colorScheme}${javaScriptEnabled ? "" : " without JavaScript"}`, check = checkIn(where);
    const page = await context.newPage(), asked = new Map();
    const noPicture = (m) => w.name === "upstream-down" && m.location().url.startsWith(`${w.url}vi/`); // the stand-in serves them
    page.on("console", (m) => { if (["error", "warning"].includes(m.type()) && !/status of (404|503)/.test(m.text()) && !noPicture(m)) check(false, `console: ${m.text()}`); });
    page.on("pageerror", (err) => check(false, `script: ${err}`));
    page.on("dialog", (d) => { check(false, `dialog: ${d.message()}`); return d.dismiss(); });
    page.on("response", async (r) => {
      const sent = await r.request().sizes().catch(() => null);
      asked.set(r.url(), sent ? sent.responseHeadersSize + sent.responseBodySize : 0); // the body alone may be counted below 0
    });
    await look(page, w, name, check);
    await narrow(page, check);
    await even(page, check);
    if (name === "status") await onFirstScreen(page, check, sizes[width]);
    if (javaScriptEnabled) await accessible(page, check, axe);
    if (javaScriptEnabled) await page.screenshot({ path: join(screens, `${where.replaceAll(" ", "-")}.png`), fullPage: true });
    if (process.env.E2E_DOCS && docs[where]) {
      await page.waitForTimeout(12000); // a page is kept for ten seconds, and this world has just fetched
      await page.reload({ waitUntil: "networkidle" });
      await page.screenshot({ path: join(process.env.E2E_DOCS, `${docs[where]}.png`) });
    }
    const own = [...asked].filter(([url]) => url.startsWith(w.site)), pictures = [...asked.keys()].filter((url) => !url.startsWith(w.site));
    check(pictures.every((url) => url.startsWith(`${w.url}vi/`)), `asks others for ${pictures.filter((url) => !url.startsWith(`${w.url}vi/`))}`);
    const files = new Set(own.map(([url]) => url.slice(w.site.length).replace(/\?.*/, "")).filter((path) => path !== "livez"));
    check(files.size <= 4, `asks for ${[...files]}`);
    const bytes = own.reduce((sum, [, n]) => sum + n, 0);
    check(bytes > 0 && bytes < most, `${bytes} bytes`);
    if (usual) {
      const paint = await firstPaint(page);
      console.log(`${w.name} ${name}: ${await page.evaluate(() => document.querySelector("h1").innerText)} (${bytes} bytes, first paint ${paint?.toFixed(0)} ms)`);
      if (w.name === "fresh") check(paint <= 300, `the first contentful paint is after ${paint} ms`);
    }
    if (w.name === "fresh" && colorScheme === "light" && javaScriptEnabled && name === "status") {
      await byKeyboard(page, w, check);
      if (width === 1280) await alive(page, w, check);
    }
    await page.close();
  }
  await context.close();
}

async function inWorld(browser, name) {
  const w = new World(name, program, worlds[name]), began = Date.now();
  try {
    await w.begin();
    await worlds[name].make(w);
    await w.serve();
    w.word = name === "hostile" ? "script" : "official";
    w.module = (of) => import(modules.resolve(of));
    await worlds[name].later?.(w);
    w.video = (await w.get("v1/charts/US?limit=1"))?.items?.[0]?.video_id;
    for (const width of [1280, 390]) for (const colorScheme of ["light", "dark"]) for (const javaScriptEnabled of [true, false]) {
      await inContext(browser, w, width, colorScheme, javaScriptEnabled);
    }
    if (name === "fresh") for (const looked of [pickers, zones, takenAway, keys, firstOnPhone]) await looked(browser, w, checkIn(name));
  } finally {
    await w.end();
  }
  console.log(`${name}: ${((Date.now() - began) / 1000).toFixed(0)} s`);
}

// overview makes README's one picture of two that docs show: the charts, and the status beside them.
async function overview(browser, dir) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 404 } });
  const picture = (name) => `<img width="636" src="data:image/png;base64,${readFileSync(join(dir, `${name}.png`), "base64")}">`;
  await page.setContent(`<body style="margin:0;display:flex;gap:8px;background:#888">${picture("charts-page")}${picture("status-page")}`);
  await page.screenshot({ path: join(dir, "overview.png") });
  await page.close();
}

const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });
try {
  for (const name of process.env.E2E_WORLDS?.split(",") ?? Object.keys(worlds)) await inWorld(browser, name);
  if (process.env.E2E_DOCS) await overview(browser, process.env.E2E_DOCS);
} finally {
  await browser.close();
}
console.log(`${checks} checks, ${failures.length} failed; screenshots in ${screens}`);
process.exit(failures.length === 0 ? 0 : 1);
