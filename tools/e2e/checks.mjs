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
  check(highest <= 124, `a row is ${highest} px high`);
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

// pickers: both are opened, and a time is chosen, by mouse, keyboard and thumb. Each target is large enough, nothing is
// covered, and a picker offers the charts that are kept and no other.
export async function pickers(browser, w, check) {
  const kept = (await w.document("slots", "--since", "29d", "--region", "US", "--outcome", "done", "--limit", "1000")).slots.map((s) => s.due_at);
  for (const [width, by] of [[320, "tap"], [390, "tap"], [768, "key"], [1920, "click"]]) for (const pick of ["at", "since"]) {
    const page = await (await browser.newContext({ viewport: { width, height: 844 }, hasTouch: by === "tap", timezoneId: "UTC" })).newPage();
    const say = (ok, what) => check(ok, `pick ${pick} at ${width} px by ${by}: ${what}`);
    const choose = (selector) => by === "key" ? page.focus(selector).then(() => page.keyboard.press("Enter")) : page[by](selector);
    await page.goto(`${w.site}charts/US`);
    const slot = await page.getAttribute(".steps [aria-current] time", "datetime");
    await choose(`a[href*="pick=${pick}"]`);
    await page.waitForSelector("#pick");
    const links = await page.$$eval("#pick nav + nav a", (all) => all.map((a) => ({ at: a.querySelector("time").dateTime, r: a.getBoundingClientRect() })).map(({ at, r }) => ({ at, w: r.width, h: r.height, left: r.left, right: r.right })));
    const want = kept.filter((at) => at.slice(0, 10) === slot.slice(0, 10) && (pick === "at" || at < slot)).toSorted();
    say(JSON.stringify(links.map((l) => l.at)) === JSON.stringify(want), `it offers ${links.map((l) => l.at)} where ${want} are kept`);
    say(links.every((l) => l.h >= (width < 760 ? 44 : 24) && l.w >= 44 && l.left >= 0 && l.right <= width), `a target is too small, or beyond the edge: ${JSON.stringify(links[0])}`);
    await narrow(page, say);
    const chosen = want.at(-3);
    await choose(`#pick nav + nav a[href*="${encodeURIComponent(chosen)}"]`);
    await page.waitForSelector("#pick", { state: "detached" });
    const [at, since] = await page.$$eval(".steps [aria-current] time, .chips .wide time", (all) => all.map((t) => t.dateTime));
    say((pick === "at" ? at : since) === chosen, `${chosen} was chosen, and the page is of ${at} since ${since}`);
    await page.context().close();
  }
}

// zones: with a script the times are the visitor's and say whose; without one they are UTC and say so.
export async function zones(browser, w, check) {
  for (const timezoneId of ["America/New_York", "Europe/Berlin", "Asia/Kolkata", null]) {
    const context = await browser.newContext(timezoneId ? { timezoneId } : { javaScriptEnabled: false });
    const page = await context.newPage();
    const inZone = (at, fields) => new Intl.DateTimeFormat("en-US", { timeZone: timezoneId ?? "UTC", hourCycle: "h23", ...fields }).format(new Date(at));
    for (const path of ["charts/US", "charts/US?pick=at", `videos/${encodeURIComponent(w.video)}?since=24h`]) {
      await page.goto(`${w.site}${path}`);
      const times = await page.locator("time[datetime]").evaluateAll((all) => all.map((t) => ({ at: t.dateTime, text: t.textContent })));
      const clocks = times.filter((t) => /\d:\d/.test(t.text));
      const wrong = clocks.filter((t) => !t.text.includes(inZone(t.at, { hour: "2-digit", minute: "2-digit" })) || /^\w{3} /.test(t.text) && !t.text.startsWith(`${inZone(t.at, { weekday: "short" })} ${inZone(t.at, { day: "numeric" })}`));
      check(clocks.length > 2 && wrong.length === 0, `${timezoneId ?? "without a script"}: /${path}: wrong times: ${JSON.stringify(wrong.slice(0, 3))} of ${clocks.length}`);
      const said = (await page.locator(".foot").innerText()).replace(/\s+/g, " "), shown = (timezoneId ?? "UTC").replace("Asia/Kolkata", "Asia/Calcutta").replaceAll("_", " ");
      check(said.includes(`times are ${shown}`), `${timezoneId ?? "without a script"}: /${path} does not say whose times: ${said}`);
    }
    await context.close();
  }
}

// takenAway: what pages offer to take away is what they show. CSV is read by papaparse, a feed by feedsmith, which also
// sees that it is well formed.
export async function takenAway(browser, w, check) {
  const { default: csv } = await w.module("papaparse"), { parseAtomFeed } = await w.module("feedsmith");
  const page = await (await browser.newContext()).newPage();
  for (const path of ["charts/US", "charts/US?since=6h&show=new", "charts/US?length=-3m", `videos/${encodeURIComponent(w.video)}?since=24h`, `search?q=${w.word}&order=views`]) {
    await page.goto(`${w.site}${path}`);
    const links = await page.$$eval("main > .chips:last-child a[type]", (all) => all.map((a) => ({ kind: a.type, href: a.href, name: a.textContent })));
    const shown = await page.$$eval(".row .title", (all) => all.map((a) => decodeURIComponent(a.pathname.split("/").at(-1))));
    check(links.some((l) => l.kind === "text/csv") && links.some((l) => l.kind === "application/json"), `/${path} offers ${JSON.stringify(links)}`);
    for (const { kind, href, name } of links) {
      const answer = await fetch(href), text = await answer.text(), say = (ok, what) => check(ok, `/${path}: ${name}: ${what}`);
      say(answer.status === 200 && answer.headers.get("content-type").startsWith(kind), `${answer.status} ${answer.headers.get("content-type")}`);
      const again = await fetch(href, { headers: { "If-None-Match": answer.headers.get("etag") } });
      say(again.status === 304 || (await again.text()) !== text, `a reader that has it is answered ${again.status}`);
      if (kind === "text/csv") {
        const { data, errors } = csv.parse(text.trimEnd(), { header: true });
        const ids = data.map((row) => row.video_id.replace(/^'/, ""));
        say(errors.length === 0 && ids.length > 0 && shown.every((id, i) => ids[i] === id), `${errors.length} errors; its rows are of ${ids.slice(0, 5)}, the page's of ${shown.slice(0, 5)}`);
      }
      if (kind === "application/atom+xml") {
        const feed = parseAtomFeed(text), all = [feed, ...feed.entries ?? []];
        say(all.every((e) => e.id && e.title && !Number.isNaN(Date.parse(e.updated))) && new Set(all.map((e) => e.id)).size === all.length, `lacks an id, a title or a time: ${JSON.stringify(all.find((e) => !e.id || !e.title))}`);
        say(JSON.stringify(feed.rights ?? "").includes("YouTube") && JSON.stringify(feed.authors ?? "").includes("YouTube"), "does not name its source");
        say(/first ten/.test(name) ? feed.entries.length === 10 : true, `has ${feed.entries?.length} entries`);
      }
    }
  }
  await page.context().close();
}

// keys are those of feed readers.
export async function keys(browser, w, check) {
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${w.site}charts/US`);
  const focused = () => page.evaluate(() => [...document.querySelectorAll(".row .title")].indexOf(document.activeElement));
  for (const [key, want] of [["j", 0], ["j", 1], ["k", 0], ["k", 0]]) {
    await page.keyboard.press(key);
    check(await focused() === want, `${key} leads to row ${await focused()}, not ${want}`);
  }
  await page.keyboard.press("?");
  check(/next video/.test(await page.locator("dialog").innerText()), "? does not name the keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("o");
  await page.waitForURL(/\/videos\//, { timeout: 10_000 }).catch(() => check(false, `o leads to ${page.url()}`));
  await page.keyboard.press("/");
  await page.keyboard.type(w.word);
  await page.waitForURL(new RegExp(`/search\\?q=${w.word}$`), { timeout: 10_000 }).catch(() => check(false, `what is typed on a video's page leads to ${page.url()}`));
  await page.goBack();
  await page.waitForURL(/\/videos\//, { timeout: 10_000 }).catch(() => check(false, `a step back leads to ${page.url()}`));
  await page.context().close();
}

// firstOnPhone: the first place begins in the upper 35 % of a phone's screen, also with all that a chart's head may say,
// and pictures that do not load leave no broken ones.
export async function firstOnPhone(browser, w, check) {
  const page = await (await browser.newContext({ viewport: { width: 390, height: 844 } })).newPage();
  await page.route("**/vi/**", (route) => route.abort());
  for (const path of ["charts/US", "charts/CA", "charts/US?since=24h"]) {
    await page.goto(`${w.site}${path}`);
    const top = await page.evaluate(() => document.querySelector(".row").getBoundingClientRect().top);
    check(top <= 0.35 * 844, `/${path}: the first place begins at ${top} of 844 px`);
    await page.waitForFunction(() => [...document.images].slice(0, 3).every((i) => getComputedStyle(i).visibility === "hidden"), null, { timeout: 5_000 }).catch(() => check(false, `/${path}: a broken picture is shown`));
  }
  await page.context().close();
}
