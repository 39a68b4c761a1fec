// express with express-rate-limit, in memory or in REDIS, from the modules in MODULES; prints its address.
import { createRequire } from "node:module";

const load = createRequire(process.env.MODULES + "/package.json");
const express = load("express");
const { rateLimit } = load("express-rate-limit");

const options = { windowMs: 60_000, limit: 1_000_000_000, standardHeaders: "draft-8", legacyHeaders: false };
if (process.env.REDIS) {
  const { RedisStore } = load("rate-limit-redis");
  const client = load("redis").createClient({ url: process.env.REDIS });
  await client.connect();
  options.store = new RedisStore({ sendCommand: (...args) => client.sendCommand(args) });
}
const app = express();
app.disable("x-powered-by");
app.use(rateLimit(options));
app.get("/", (_, answer) => answer.send("hello\n"));
const server = app.listen(0, "127.0.0.1", () => console.log(`127.0.0.1:${server.address().port}`));
