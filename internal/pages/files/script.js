"use strict";
// Without this script every page works; with it, pages follow the server, arrow keys step through time, and a search
// answers as it is typed.
(() => {
  const seconds = 1000, lookEvery = 2 * seconds, answerWithin = 2 * seconds; // who is gone is known within their sum
  const main = () => document.getElementById("main");

  const ask = (url, signal) => fetch(url, { cache: "no-store", signal: AbortSignal.any([AbortSignal.timeout(answerWithin), ...(signal ? [signal] : [])]) });

  // show puts another page of this site in place of this one. What was unfolded stays so, and the focus stays where it was.
  const show = (text) => {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const next = fresh.getElementById("main");
    if (!next) return; // it is no page: too many were asked for, for example
    const named = (e) => e.getAttribute("href") ?? (e.querySelector("b") ?? e).textContent; // what stays while figures change
    const at = main().contains(document.activeElement) ? document.activeElement : null;
    const open = [...document.querySelectorAll("main details[open] > summary")].map(named);
    for (const s of next.querySelectorAll("details > summary")) if (open.includes(named(s))) s.parentElement.open = true;
    main().replaceWith(document.adoptNode(next));
    document.title = fresh.title;
    for (const part of [".head nav", ".foot"]) document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
    if (at) [...next.querySelectorAll(at.tagName)].find((e) => named(e) === named(at))?.focus({ preventScroll: true });
  };

  // Every page notices when its server is gone. One that says so with data-live also shows what is new, at every second
  // look; while its reader marks text it stays as it is, and says so.
  const away = document.getElementById("away"), still = document.getElementById("still");
  let looks = 0;
  const look = async () => {
    const live = main().dataset.live !== undefined && ++looks % 2 === 0;
    const marks = live && !getSelection().isCollapsed;
    still.hidden = !marks;
    try {
      const text = await (await ask(live && !marks ? location.href : "/livez")).text();
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

  // The left and right arrow keys follow the links to the earlier and later chart.
  const step = { ArrowLeft: "prev", ArrowRight: "next" };
  addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey || e.target.closest("input, .scroll")) return;
    const link = step[e.key] && document.querySelector(`.steps a[rel="${step[e.key]}"][aria-keyshortcuts]`);
    if (link) { e.preventDefault(); link.click(); }
  });

  // A search answers as it is typed: on the search page, in place.
  const form = document.querySelector(".search"), box = form.querySelector("input");
  if (location.pathname === form.getAttribute("action")) {
    let waits, running;
    box.addEventListener("input", () => {
      clearTimeout(waits);
      waits = setTimeout(async () => {
        running?.abort();
        running = new AbortController();
        const url = `${location.pathname}?${new URLSearchParams(new FormData(form))}`;
        try {
          show(await (await ask(url, running.signal)).text());
          history.replaceState(null, "", url);
        } catch { /* another was typed since, or the server is gone, which look says */ }
      }, 150);
    });
  }
})();
