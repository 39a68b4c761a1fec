"use strict";
// Without this script every page works; with it, pages follow the server, arrow keys step through time, and a search
// answers as it is typed.
(() => {
  const seconds = 1000, lookEvery = 4 * seconds, answerWithin = 3 * seconds;
  const main = () => document.getElementById("main");

  // get returns another page of this site as a document; it throws if the server does not answer in time.
  const get = async (url, signal) => {
    const signals = [AbortSignal.timeout(answerWithin), ...(signal ? [signal] : [])];
    const answer = await fetch(url, { cache: "no-store", headers: { Accept: "text/html" }, signal: AbortSignal.any(signals) });
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  // replace shows a fresh copy of the page. What was unfolded stays so, and the focus stays on the same link.
  const replace = (fresh) => {
    const open = new Set([...document.querySelectorAll("main details[open] summary")].map((s) => s.textContent));
    const at = document.activeElement, path = at && main().contains(at) ? [at.tagName, at.getAttribute("href"), at.textContent] : null;
    const next = document.adoptNode(fresh.getElementById("main"));
    for (const s of next.querySelectorAll("details summary")) if (open.has(s.textContent)) s.parentElement.open = true;
    main().replaceWith(next);
    document.title = fresh.title;
    for (const part of [".head nav", ".foot"]) document.querySelector(part).replaceWith(document.adoptNode(fresh.querySelector(part)));
    if (path) [...next.querySelectorAll(path[0])].find((e) => e.getAttribute("href") === path[1] && e.textContent === path[2])?.focus({ preventScroll: true });
  };

  // A page that says so with data-live looks again by itself, and every page notices when its server is gone.
  const away = document.getElementById("away");
  const look = async () => {
    const live = main().dataset.live !== undefined && getSelection().isCollapsed;
    try {
      if (live) replace(await get(location.href));
      else if (!(await fetch("/livez", { cache: "no-store", signal: AbortSignal.timeout(answerWithin) })).status) throw new Error();
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
          replace(await get(url, running.signal));
          history.replaceState(null, "", url);
        } catch { /* another was typed since, or the server is gone, which look says */ }
      }, 150);
    });
  }
})();
