import { offer } from "../lib/offer.ts";
import { runProgram } from "../lib/program.ts";

/** Redis with an append-only file; `BENCH_APPENDFSYNC` says when that is on disk. */
await offer((place) => {
  const options = {
    bind: place.host,
    port: String(place.port),
    dir: place.stateDir,
    appendonly: "yes",
    appendfsync: process.env["BENCH_APPENDFSYNC"] ?? "everysec",
    // Neither snapshots nor rewriting of the file: both would cost it time in some rounds.
    save: "",
    "auto-aof-rewrite-percentage": "0",
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return runProgram("redis-server", args, place);
});
