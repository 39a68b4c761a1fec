"use strict";
// Without this script every page works; with it, pages follow the server, arrow keys step through time, and a search
// answers as it is typed.
(() => {
  const seconds = 1000, lookEvery = 2 * seconds, answerWithin = 2 * seconds; // who is gone is known within their sum
  const form = document.querySelector(".search"), box = form.querySelector("input");
  const base = form.getAttribute("action").replace(/search$/, ""); // where this site is on its host
  const main = () => document.getElementById("main");

  const ask = (url, signal) => fetch(url, { cache: "no-store", signal: AbortSignal.any([AbortSignal.timeout(answerWithin), ...(signal ? [signal] : [])]) });

  // local writes the times of a part of a page, which are UTC, in the visitor's zone, with the fields that each has. The
  // status page stays in UTC, like the commands and the logs that it is read beside.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fields = { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  const local = (part) => {
    if (!zone || zone === "UTC" || main().dataset.live !== undefined) return;
    let before;
    for (const e of part.querySelectorAll("time[datetime], text[data-at]")) {
      const utc = e.textContent, has = (pattern) => pattern.test(utc), inPicker = e.closest(".pick nav + nav");
      if (e.title || !has(/^\w{3} \d|\d:\d/)) continue;
      const p = {};
      for (const { type, value } of Intl.DateTimeFormat("en-US", fields).formatToParts(new Date(e.dateTime ?? e.dataset.at))) p[type] = value;
      const nextDay = inPicker && p.day !== before; // a day of UTC has times of two days of the visitor's
      if (inPicker) before = p.day;
      const day = (has(/^\w{3} \d/) || nextDay) && [p.weekday, p.day, has(/\d [A-Z][a-z]/) && p.month, has(/\d{4}/) && p.year];
      const time = has(/\d:\d/) && [p.hour, p.minute, ...(has(/:\d\d:/) ? [p.second] : [])].join(":");
      e.textContent = [day && day.filter(Boolean).join(" "), time].filter(Boolean).join(", ");
      if (e.dateTime) e.title = utc.replace(/( UTC)?$/, " UTC");
    }
    for (const e of part.querySelectorAll(".zone")) e.textContent = zone.replaceAll("_", " ");
  };

  // show puts another page of this site in place of this one. What was unfolded stays so, and the focus stays where it was.
  const show = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const next = fresh.getElementById("main");
    if (!next) return; // it is no page: too many were asked for, for example
    const named = (e) => e.getAttribute("href") ?? (e.querySelector("b") ?? e).textContent; // what stays while figures change
    const at = main().contains(document.activeElement) ? document.activeElement : null;
    const open = [...document.querySelectorAll("main details[open] > summary")].map(named);
    for (const s of next.querySelectorAll("details > summary")) if (open.includes(named(s))) s.parentElement.open = true;
    local(fresh);
    main().replaceWith(document.adoptNode(next));
    document.title = fresh.title;
    for (const part of [".head nav", ".foot"]) document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
    if (at) [...next.querySelectorAll(at.tagName)].find((e) => named(e) === named(at))?.focus({ preventScroll: true });
  };

  local(document);

  // Every page notices when its server is gone. One that says so with data-live also shows what is new, at every second
  // look; while its reader marks text it stays as it is, and says so.
  const away = document.getElementById("away"), still = document.getElementById("still");
  let looks = 0;
  const look = async () => {
    const live = main().dataset.live !== undefined && ++looks % 2 === 0;
    const marks = live && !getSelection().isCollapsed;
    still.hidden = !marks;
    try {
      const text = await (await ask(live && !marks ? location.href : base + "livez")).text();
      if (live && !marks) show(text);
      main().classList.remove("away");
      away.hidden = true;
    } catch {
      main().classList.add("away");
      if (away.hidden) { away.hidden = false; away.querySelector("time").textContent = new Date().toISOString().slice(11, 16); }
    }
  };
  const again = () => setTimeout(async () => { if (!document.hidden) await look(); again(); }, lookEvery);
  again();

  // A link to the page itself is copied. Where the browser keeps scripts from the clipboard, it is followed instead: its
  // address can be copied from there.
  addEventListener("click", async (e) => {
    const link = e.target.closest("[data-copy]");
    if (!link || !navigator.clipboard) return;
    e.preventDefault();
    await navigator.clipboard.writeText(link.href).then(() => { link.textContent = "Copied"; }, () => { location = link.href; });
  });

  // The left and right arrow keys follow the links to the earlier and later chart.
  // The other keys are those of feed readers; "?" names them.
  const go = (by) => {
    const titles = [...document.querySelectorAll(".row .title")], at = titles.indexOf(document.activeElement);
    titles[Math.max(0, Math.min(titles.length - 1, at + by))]?.focus();
  };
  const follow = (selector) => document.querySelector(selector)?.click();
  const keys = {
    "/": ["search", () => { box.focus(); box.select(); }],
    j: ["next video", () => go(1)], k: ["previous video", () => go(-1)],
    o: ["open the video", () => document.activeElement.closest(".row .title")?.click()],
    ArrowLeft: ["earlier chart", () => follow('.steps a[rel="prev"][aria-keyshortcuts]')],
    ArrowRight: ["later chart", () => follow('.steps a[rel="next"][aria-keyshortcuts]')],
    "?": ["these keys", () => help()],
  };
  const help = () => {
    let dialog = document.querySelector("dialog");
    if (!dialog) {
      dialog = document.body.appendChild(document.createElement("dialog"));
      dialog.setAttribute("aria-label", "Keys");
      for (const [key, [words]] of Object.entries(keys)) {
        const line = dialog.appendChild(document.createElement("p"));
        line.appendChild(document.createElement("kbd")).textContent = key.replace("Arrow", "");
        line.append(` ${words}`);
      }
      dialog.addEventListener("click", () => dialog.close());
    }
    dialog.open ? dialog.close() : dialog.showModal();
  };
  addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.target.closest("input, textarea, select") || e.key.startsWith("Arrow") && (e.shiftKey || e.target.closest(".scroll"))) return;
    if (!Object.hasOwn(keys, e.key)) return;
    e.preventDefault();
    keys[e.key][1]();
  });

  // A picture that does not load leaves an empty frame, not a broken one.
  const lost = (e) => { if (e.tagName === "IMG") e.classList.add("lost"); };
  addEventListener("error", (e) => lost(e.target), true);
  for (const e of document.images) if (e.complete && !e.naturalWidth) lost(e);

  // A search answers as it is typed, from every page, in place. The page it began on is a step back.
  let waits, running;
  box.addEventListener("input", () => {
    clearTimeout(waits);
    waits = setTimeout(async () => {
      running?.abort();
      running = new AbortController();
      const action = form.getAttribute("action"), here = location.pathname === action;
      const url = `${action}?${new URLSearchParams(new FormData(form))}`;
      try {
        show(await (await ask(url, running.signal)).text());
        history[here ? "replaceState" : "pushState"](null, "", url);
      } catch { /* another was typed since, or the server is gone, which look says */ }
    }, 150);
  });
  addEventListener("popstate", (e) => { if (!location.hash) location.reload(); });
})();
