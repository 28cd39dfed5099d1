import { offer } from "../lib/offer.ts";
import { runProgram } from "../lib/program.ts";

/** Redis with an append-only file; `BENCH_APPENDFSYNC` says when it is on disk. */
await offer((place) => {
  const options = {
    bind: place.host,
    port: String(place.port),
    dir: place.stateDir,
    appendonly: "yes",
    appendfsync: process.env["BENCH_APPENDFSYNC"] ?? "everysec",
    // Snapshots and rewriting of the file would slow some rounds down.
    save: "",
    "auto-aof-rewrite-percentage": "0",
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return runProgram("redis-server", args, place);
});
