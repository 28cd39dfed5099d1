import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { offer } from "../lib/offer.ts";
import { runProgram } from "../lib/program.ts";

/** NATS with JetStream in files; `BENCH_SYNC_INTERVAL` says when they are on disk (2.10 and newer). */
await offer((place) => {
  const sync = process.env["BENCH_SYNC_INTERVAL"];
  const config = join(place.stateDir, "nats.conf");
  writeFileSync(
    config,
    `listen: "${place.host}:${place.port}"
jetstream { store_dir: "${place.stateDir}"${sync === undefined ? "" : `, sync_interval: ${sync}`} }
`,
  );
  return runProgram("nats-server", ["-c", config, "-l", join(place.stateDir, "nats.log")], place);
});
