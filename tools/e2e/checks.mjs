// What must hold of every page, whatever it shows.

// accessible runs axe, whose timers need the page's JavaScript: the elements are the same without it.
export async function accessible(page, check, axe) {
  const found = await page.evaluate(`(() => { ${axe}; return axe.run(document, { resultTypes: ["violations"] }); })()`);
  check(found.violations.length === 0, found.violations.map((v) => `axe: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 5).join(", ")}`).join("\n"));
}

// narrow: nothing reaches beyond the right edge.
export async function narrow(page, check) {
  const [has, wide, widest] = await page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    const clipped = (e) => e !== document.body && (getComputedStyle(e).overflowX !== "visible" || clipped(e.parentElement));
    const over = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > room + 1 && !clipped(e.parentElement));
    return [room, document.documentElement.scrollWidth, over.slice(0, 5).map((e) => e.outerHTML.slice(0, 120))];
  });
  check(wide <= has && widest.length === 0, `scrolls sideways: ${wide} of ${has} px: ${widest.join("\n")}`);
}

// even: a row of a list is no higher than any other may be, whatever its title.
export async function even(page, check) {
  const highest = await page.evaluate(() => Math.max(0, ...[...document.querySelectorAll(".row")].map((e) => e.getBoundingClientRect().height)));
  check(highest <= 104, `a row is ${highest} px high`);
}

// onFirstScreen: all regions, and how much is left, are seen without scrolling.
export async function onFirstScreen(page, check, height) {
  const ends = await page.evaluate(() => [...document.querySelectorAll(".tiles, .pool .fact")].map((e) => e.getBoundingClientRect().bottom));
  check(Math.max(0, ...ends) <= height, `the first screen ends at ${height} px, the regions and the quota at ${ends}`);
}

// byKeyboard goes through all four pages with the keyboard alone. Whatever has the focus shows it, and has a name.
export async function byKeyboard(page, w, check) {
  const focused = () => page.evaluate(() => {
    const e = document.activeElement, outlined = (pseudo) => getComputedStyle(e, pseudo).outlineStyle !== "none";
    const name = e.getAttribute("aria-label") ?? e.textContent;
    return { what: e.outerHTML.slice(0, 100), shown: outlined() || outlined("::after") || e.tagName === "BODY", named: e.tagName === "BODY" || name.trim() !== "" };
  });
  // reach presses Tab until the focus is on what matches.
  const reach = async (selector) => {
    for (let i = 0; i < 120; i++) {
      if (await page.evaluate((s) => document.activeElement.matches(s), selector)) return;
      await page.keyboard.press("Tab");
      const at = await focused();
      check(at.shown && at.named, `keyboard: ${at.what} does not show that it has the focus, or has no name`);
    }
    check(false, `keyboard: Tab does not reach ${selector} on ${page.url()}`);
  };
  const follow = async (key, path) => {
    const from = page.url(), there = (url) => url.href !== from && path.test(url.pathname + url.search + url.hash);
    await Promise.all([page.waitForURL(there, { timeout: 20_000 }).catch(() => {}), page.keyboard.press(key)]);
    check(path.test(page.url().slice(w.site.length - 1)), `keyboard: ${key} leads to ${page.url()}, not to ${path}`);
  };
  await page.goto(`${w.site}charts/US`);
  await reach(".sr");
  await follow("Enter", /#main$/);
  await follow("ArrowLeft", /^\/charts\/US\?at=/);
  await follow("ArrowRight", /^\/charts\/US\?at=/);
  await reach(".chips a[href*='show=']");
  await follow("Enter", /show=/);
  await reach(".row .title");
  await follow("Enter", /^\/videos\//);
  await reach("a[href^='/search?q=channel']");
  await follow("Enter", /^\/search\?q=channel/);
  await reach(".search input");
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type(w.word);
  await follow("End", new RegExp(`^/search\\?q=${w.word}$`)); // results come as one types
  check((await page.locator("[role=status] bdi").first().innerText()).includes(w.word), "keyboard: no results of what was typed");
  await reach(".row .title");
  await page.goto(page.url());
  await reach("a[href='/status']");
  await follow("Enter", /^\/status$/);
  await reach(".tile a");
  await follow("Enter", /^\/charts\//);
}

// alive: the status page follows what is spent without a reload, and says so and fades when its server is gone.
export async function alive(page, w, check) {
  const used = () => document.querySelector(".pool small").innerText;
  await page.goto(`${w.site}status`);
  const before = await page.evaluate(used);
  await w.ingest(["quota", "post", "units", "3"], [0, 75]);
  await page.waitForFunction((was) => document.querySelector(".pool small").innerText !== was, before, { timeout: 60_000 })
    .catch(() => check(false, `still says ${before} a minute after 3 units more`));
  page.removeAllListeners("console"); // which would tell of each try
  for (const path of ["status", "charts/US"]) {
    await page.goto(`${w.site}${path}`);
    await page.route("**", (route) => route.abort());
    const gone = Date.now();
    await page.waitForSelector("main.away", { timeout: 20_000 }).catch(() => {});
    const after = Date.now() - gone;
    check(after <= 5_000 && await page.locator("#away").isVisible(), `/${path} fades ${after} ms after its server is gone, not within 5 s`);
    console.log(`${w.name}: /${path} says after ${(after / 1000).toFixed(1)} s that its server is gone`);
    await page.unrouteAll();
    await page.waitForSelector("main:not(.away)", { timeout: 20_000 }).catch(() => check(false, `/${path} stays faded although its server is back`));
  }
}
