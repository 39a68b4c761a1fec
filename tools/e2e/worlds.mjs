// The worlds that the page is looked at in: each is a data directory with a history, and an ingest serve over it.
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const minute = 60_000, hour = 60 * minute;
const present = Date.parse("2026-02-14T20:20:00Z"); // of the worlds whose clock is moved
const startWithin = 2 * minute; // on a busy machine

const ended = (child) => new Promise((done) => (child.exitCode ?? child.signalCode) !== null ? done() : child.on("exit", done));

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

// World is one data directory.
export class World {
  constructor(name, program, moved = true) {
    Object.assign(this, { name, program, moved, at: present, began: Date.now(), flags: [], ends: [] });
    this.data = mkdtempSync(join(tmpdir(), "ingest-e2e-"));
  }

  env() {
    const env = { PATH: process.env.PATH, HOME: this.data, INGEST_DATA: this.data, INGEST_UPSTREAM_URL: this.upstream.url };
    if (this.moved) env.INGEST_NOW = new Date(this.at + Date.now() - this.began).toISOString().replace(/\.\d+/, "");
    return env;
  }

  async begin() {
    this.upstream = await start(this.program, ["simulate"], { PATH: process.env.PATH, HOME: this.data }, /(http:\/\/127\.0\.0\.1:\d+\/)/);
  }

  // ingest runs a command, which may end with one of the codes.
  ingest(args, codes = [0]) {
    return new Promise((done, failed) => execFile(this.program, [...this.flags, ...args], { env: this.env(), maxBuffer: 64 << 20 }, (err, stdout, stderr) => {
      const code = err ? err.code : 0;
      codes.includes(code) ? done(stdout) : failed(new Error(`${this.name}: ingest ${args.join(" ")} ended with ${code}, not ${codes}:\n${stdout}${stderr}`));
    }));
  }

  // live goes through some hours until now, a run every half hour; rest are hours in which nothing ran.
  async live(hours, rest = [], args = []) {
    for (let ago = hours * hour; ago > 0; ago -= hour / 2) {
      this.at = present - ago; this.began = Date.now();
      if (!rest.includes(Math.floor(ago / hour))) await this.ingest(["run", ...args], [0, 3, 75]);
    }
    this.at = present; this.began = Date.now();
  }

  async serve() {
    const s = await start(this.program, [...this.flags, "serve", "--listen", "127.0.0.1:0"], this.env(), /msg="ingest serves".* listen=(\S+)/);
    this.url = s.url;
    this.ends.push(s.end);
    return this;
  }

  async end() {
    for (const end of [...this.ends, this.upstream.end]) await end();
    rmSync(this.data, { recursive: true, force: true });
  }
}

// worlds are made one after the other: what each of them shows is next to its making.
export const worlds = {
  // A day like any other, with an afternoon in which the machine was off, and a backfill.
  async fine(w) {
    await w.live(20, [9, 10, 11]);
    await w.ingest(["quota", "take", "search.list", "--purpose", "backfill"]);
    await w.ingest(["quota", "post", "units", "640"]);
  },
  async empty(w) { await w.upstream.end(); },
  async drained(w) {
    await w.live(3);
    await w.ingest(["quota", "drain", "units"]);
  },
  async starved(w) {
    await w.live(3);
    await w.ingest(["quota", "post", "units", "9380"], [0, 75]);
  },
  // IN was left out for three hours, and then the upstream is gone.
  async stale(w) {
    await w.live(5, [0, 1, 2]);
    await w.live(2.5, [], ["--region", "US,GB,DE,FR,BR,AU,CA"]);
    await w.upstream.end();
  },
  async "ledger-down"(w) { w.flags = ["--ledger", "redis://127.0.0.1:1/0"]; },
};
worlds["ledger-down"].clock = "real"; // a moved one is refused beside a Redis
