"use strict";
(() => {
  const button = document.getElementById("pause");
  let stream = null;
  const refresh = async () => {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok || !stream) return;
    const text = (await answer.text()).replace(/<style[^]*?<\/style>/, ""); // whose nonce this page's policy does not know
    const fresh = new DOMParser().parseFromString(text, "text/html");
    const main = document.getElementById("main");
    if (main.contains(document.activeElement)) return; // somebody reads with the keyboard, or types
    const open = new Set([...main.querySelectorAll("details[open] b")].map((b) => b.textContent));
    const next = document.adoptNode(fresh.getElementById("main"));
    next.querySelectorAll("details b").forEach((b) => { b.closest("details").open = open.has(b.textContent); });
    main.replaceWith(next);
    document.title = fresh.title;
    document.querySelector("header time").replaceWith(document.adoptNode(fresh.querySelector("header time")));
  };
  const start = () => {
    stream = new EventSource("events");
    stream.addEventListener("changed", () => refresh().catch(() => {}));
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (stream) { stream.close(); stream = null; } else { start(); }
    button.setAttribute("aria-pressed", String(!stream));
    button.textContent = stream ? "Pause" : "Continue";
  });
  start();
})();
