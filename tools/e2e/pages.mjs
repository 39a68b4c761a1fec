// What each page must show, by the documents of the commands: its address, the answer's code, the texts it must have,
// and the rows of its list.
import { regions } from "./worlds.mjs";

export const number = (n) => n.toString().replace(/\B(?=(\d{3})+$)/g, ",");

// plain is a text without what pages leave out of it: controls, joiners, spaces, and all behind its first characters.
export const invisible = /[\p{C}\p{Z}\ufffd…]+/gu;
export const plain = (text) => [...text.replace(invisible, "")].slice(0, 100).join("");

const views = (v) => v.views === null ? "no count" : `${number(v.views)} views`;

const move = (v) => {
  if (v.was_rank === undefined) return "";
  if (v.was_rank === null) return "new";
  const by = v.was_rank - v.rank;
  return by > 0 ? `▲up ${by}` : by < 0 ? `▼down ${-by}` : "=unchanged ";
};

// row is what one video's row must say; see rowsOf.
const row = (v, rank = "") => ({ rank: `${rank}`, move: rank && move(v), path: `/videos/${encodeURIComponent(v.video_id)}`, title: plain(v.title) || "Untitled", views: views(v), watch: v.url });

// rowsOf reads the rows of a list in the browser.
export const rowsOf = () => [...document.querySelectorAll(".row")].map((li) => {
  const text = (selector) => li.querySelector(selector)?.textContent ?? "";
  return { rank: text(".pos b"), move: text(".move"), path: li.querySelector(".title").getAttribute("href"), title: text(".title"), views: li.querySelector(".views")?.firstChild?.textContent ?? "", watch: li.querySelector(".out").getAttribute("href") };
});

const unknown = { codes: [404, 503], texts: [/There is nothing here|No chart of the United States was fetched yet|This cannot be read right now/] };

async function chart(w) {
  const doc = await w.document("chart", "US", "--compare", "6h") ?? await w.document("chart", "US", "--compare", "30m") ?? await w.document("chart", "US");
  if (!doc) return { ...unknown, codes: [200, 503] }; // 200: before the first fetch the page says how to make one
  const texts = ["Most popular in the United States", ...regions];
  for (const [change, word] of Object.entries({ new: "new", risen: "rose", fallen: "fell", gone: "left" })) {
    if (doc.changes?.[change] > 0) texts.push(`${doc.changes[change]} ${word}`);
  }
  return { texts, rows: doc.items.slice(0, 30).map((v) => row(v, v.rank)) };
}

async function video(w) {
  if (!w.video) return unknown;
  const doc = await w.document("history", w.video, "--since", "7d"), { regions: all } = await w.get("v1/regions");
  const texts = [plain(doc.title), plain(doc.channel), ...[doc.views, doc.likes, doc.comments].filter((n) => n !== null).map(number)];
  for (const { region, jobs } of all) {
    const seen = doc.sightings.filter((s) => s.region === region).at(-1);
    if (seen) texts.push(new RegExp(`${region} ${seen.slot === jobs[0].slot ? seen.rank : "out"} `));
  }
  return { texts, spaceless: texts.slice(0, 2) };
}

async function search(w) {
  const doc = await w.document("search", w.word);
  if (!doc) return unknown;
  return { texts: [doc.items.length > 0 ? new RegExp(`match(es)? ${doc.looked_for}`) : "No video matches"], rows: doc.items.map((v) => row(v)) };
}

async function status(w) {
  const screen = (await w.ingest(["quota"], [0, 1, 69])).split("\n\n")[0].replace(/\s+/g, " ").trim();
  const doc = await w.document("quota"), texts = [screen.split(/[.:;] /)[0].replace(/ for \d+s$/, "")];
  if (doc && !doc.degraded) {
    const pool = doc.pools.find((p) => p.pool === "units"), scheduled = pool.purposes.find((p) => p.purpose === "scheduled");
    texts.push(`${number(scheduled.remaining)} left for charts`, `${number(Math.max(...pool.windows.map((win) => win.used)))} of ${number(pool.limit)} used`, `${number(scheduled.ceiling)} charts`);
    const sums = new Map();
    for (const s of doc.spent) sums.set(`${s.method} ${s.pool} ${s.purpose}`, (sums.get(`${s.method} ${s.pool} ${s.purpose}`) ?? 0) + s.amount);
    for (const [who, n] of sums) texts.push(new RegExp(`${who.split(" ")[2]} [^.]* ?(${who.split(" ")[0]} )?${number(n)} `));
  } else {
    texts.push(/State cannot (answer|be read)/);
  }
  const slots = (await w.document("slots", "--since", "24h", "--limit", "1000"))?.slots ?? [];
  for (const region of regions) {
    const count = {};
    for (const s of slots) if (s.job === "chart" && s.region === region) count[s.outcome] = (count[s.outcome] ?? 0) + (s.count ?? 1);
    for (const [outcome, n] of Object.entries(count)) texts.push(new RegExp(`${region} [^.]*\\b${n} ${outcome}\\b`));
    const top = (await w.get(`v1/charts/${region}?limit=1`))?.items?.[0];
    if (top) texts.push(top.title.replace(/\s+/g, " ").slice(0, 20));
  }
  for (const b of (await w.document("backfill", "status"))?.backfills ?? []) texts.push(`${b.id} `, new RegExp(`of ${number(b.pieces.total)} pieces, ${Object.entries(b.charges).filter(([, n]) => n).map(([pool, n]) => `${number(n)} (${pool} calls?|units?)`).sort().join(", ") || "nothing spent"}`));
  return { texts };
}

export const pages = {
  charts: { path: () => "charts/US", wanted: chart },
  video: { path: (w) => `videos/${encodeURIComponent(w.video ?? "nothing")}?since=7d`, wanted: video },
  search: { path: (w) => `search?q=${encodeURIComponent(w.word)}`, wanted: search },
  status: { path: () => "status", wanted: status },
};
