// The worlds that the page is looked at in: each is a data directory with a history, and an ingest serve over it.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const minute = 60_000, hour = 60 * minute;
const present = Date.parse("2026-02-14T20:20:00Z"); // of the worlds whose clock is moved
const startWithin = 2 * minute; // on a busy machine

const ended = (child) => new Promise((done) => (child.exitCode ?? child.signalCode) !== null ? done() : child.on("exit", done));

// freePort finds a port for a stand-in that is started again and again: a store remembers where its data comes from.
const freePort = () => new Promise((found) => {
  const s = createServer().listen(0, "127.0.0.1", () => { const { port } = s.address(); s.close(() => found(port)); });
});

// start runs a program until it has said a line that matches, and returns what the line captured.
async function start(program, args, env, line) {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const said = [];
  const url = await new Promise((found, failed) => {
    const late = setTimeout(() => failed(new Error(`${args[0]} did not start:\n${said.join("\n")}`)), startWithin);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (text) => {
        said.push(text);
        const m = text.match(line);
        if (m) { clearTimeout(late); found(m[1]); }
      });
    }
    child.on("exit", (code) => { clearTimeout(late); failed(new Error(`${args[0]} ended with ${code}:\n${said.join("\n")}`)); });
  });
  return { url, said, end: () => { child.kill("SIGTERM"); return ended(child); } };
}

// World is one data directory, with a stand-in for the upstream.
export class World {
  constructor(name, program, { clock, simulate = [] } = {}) {
    Object.assign(this, { name, program, moved: clock !== "real", simulate, at: present, began: Date.now(), flags: [], ends: [], wanted: {} });
    this.data = mkdtempSync(join(tmpdir(), "ingest-e2e-"));
  }

  env() {
    const env = { PATH: process.env.PATH, HOME: this.data, INGEST_DATA: this.data, INGEST_UPSTREAM_URL: this.url };
    if (this.moved) env.INGEST_NOW = new Date(this.at + Date.now() - this.began).toISOString().replace(/\.\d+/, "");
    return env;
  }

  async begin() {
    this.port = await freePort();
    this.url = `http://127.0.0.1:${this.port}/`;
    await this.revive();
  }

  // revive starts the stand-in, at the world's own time: what it charts changes by the hour.
  async revive() {
    await this.upstream?.end();
    this.upstream = await start(this.program, ["simulate", "--listen", `127.0.0.1:${this.port}`, ...this.simulate], this.env(), /(http:\/\/127\.0\.0\.1:\d+\/)/);
  }

  // ingest runs a command, which may end with one of the codes.
  ingest(args, codes = [0]) {
    return new Promise((done, failed) => execFile(this.program, [...this.flags, ...args], { env: this.env(), maxBuffer: 64 << 20 }, (err, stdout, stderr) => {
      const code = err ? err.code : 0;
      codes.includes(code) ? done(stdout) : failed(new Error(`${this.name}: ingest ${args.join(" ")} ended with ${code}, not ${codes}:\n${stdout}${stderr}`));
    }));
  }

  // document returns what a command prints as JSON; null if it fails.
  async document(...args) {
    try { return JSON.parse(await this.ingest([...args, "--json"], [0, 1, 3, 69, 75])); } catch { return null; }
  }

  // get returns a document of the API; null if it has none.
  async get(path) {
    const answer = await fetch(this.site + path);
    return answer.ok ? answer.json() : null;
  }

  set(at) { this.at = at; this.began = Date.now(); }

  // live goes through some hours until now, a run every half hour; rest are hours in which nothing ran.
  async live(hours, rest = [], args = []) {
    for (let ago = hours * hour; ago > 0; ago -= hour / 2) {
      this.set(present - ago);
      if (ago % hour === 0) await this.revive();
      if (!rest.includes(Math.floor(ago / hour))) await this.ingest(["run", ...args], [0, 3, 75]);
    }
    this.set(present);
    await this.revive();
  }

  async serve() {
    const s = await start(this.program, [...this.flags, "serve", "--listen", "127.0.0.1:0"], this.env(), /msg="ingest serves".* listen=(\S+)/);
    this.site = s.url;
    this.ends.push(s.end);
  }

  async end() {
    for (const end of [...this.ends, this.upstream.end]) await end();
    rmSync(this.data, { recursive: true, force: true });
  }

  // lose removes files of the data directory.
  lose(pattern) {
    for (const file of readdirSync(this.data)) if (pattern.test(file)) rmSync(join(this.data, file));
  }
}

// worlds are made one after the other: what each of them shows is next to its making.
export const worlds = {
  // A day like any other, with an afternoon in which the machine was off, and other tools on the same quota.
  fresh: { async make(w) {
    await w.live(20, [9, 10, 11]);
    await w.ingest(["quota", "take", "search.list", "--purpose", "backfill"]);
    await w.ingest(["quota", "post", "units", "640"]);
  } },
  empty: { async make(w) { await w.upstream.end(); } },
  starved: { async make(w) {
    await w.live(3);
    await w.ingest(["quota", "post", "units", "9380"], [0, 75]);
  } },
  drained: { async make(w) {
    await w.live(3);
    await w.ingest(["quota", "drain", "units"]);
  } },
  // IN was left out for three hours, and then the upstream is gone.
  "upstream-down": { async make(w) {
    await w.live(5, [0, 1, 2]);
    await w.live(2.5, [], ["--region", "US,GB,DE,FR,BR,AU,CA"]);
    await w.upstream.end();
  } },
  "ledger-down": { clock: "real", async make(w) { w.flags = ["--ledger", "redis://127.0.0.1:1/0"]; } }, // a moved clock is refused beside a Redis
  "ledger-lost": { async make(w) {
    await w.live(3);
    w.lose(/^quota\.db/);
  } },
  // serve does not begin with a store that is damaged, so this one breaks under it.
  "store-damaged": { async make(w) { await w.live(1); }, async later(w) {
    const file = join(w.data, "ingest.db");
    writeFileSync(file, Buffer.alloc(statSync(file).size, 7));
  } },
  backfill: { simulate: ["--latency", "200ms"], async make(w) {
    await w.live(2);
    const ids = JSON.parse(await w.ingest(["chart", "US", "--json"])).items.map((v) => v.video_id);
    const file = join(w.data, "ids.txt");
    writeFileSync(file, Array.from({ length: 20 }, () => ids).flat().join("\n"));
    await w.ingest(["backfill", "run", "videos", file, "--yes", "--max-units", "2"], [0, 75]);
  } },
  // Charts of titles that break what is careless.
  hostile: { async make(w) {
    const dir = join(w.data, "charts");
    mkdirSync(dir);
    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    const rows = hostile.map((title, i) => ["2026-02-14", i + 1, `<script>${i}`, title, `UC${i}`, title, 10, "", i * 1000, i, "2026-02-13T00:00:00Z"].map((v) => quoted(`${v}`)).join(","));
    for (const region of regions) {
      writeFileSync(join(dir, `${region}.csv`), ["snapshot_date,rank,video_id,title,channel_id,channel_title,category_id,tags,duration,views,published_at", ...rows, ""].join("\n"));
    }
    w.simulate = ["--charts", dir, "--day", "2026-02-14"];
    await w.revive();
    await w.live(1);
  } },
};

export const regions = ["US", "GB", "DE", "FR", "IN", "BR", "AU", "CA"];

const hostile = [
  "<script>alert(1)</script>", `"><img src=x onerror=alert(2)>`, "W".repeat(1000), "\u{1d54f}".repeat(250), "a" + "\u0301".repeat(999),
  "\u202Efile gnp.exe", "\u2066\u2066\u2066" + "אבג ".repeat(100), "مرحبا بالعالم", "{{.Secret}} ${HOME} </title></main>", "&lt;b&gt; &#60;", " ", "\u200b",
];
