import { parseArgs } from "node:util";
import { getHealth } from "../api/plinth.ts";
import { createAdminClient } from "../cli/client/admin-client.ts";
import { readSettings } from "./lib/local/settings.ts";
import { paint } from "./lib/terminal.ts";
import { tellEvents } from "../examples/tour/events.ts";
import { tellMedia } from "../examples/tour/media.ts";
import { clearUp, STOPPED } from "../examples/tour/clear-up.ts";
import { leftovers } from "../examples/tour/leftovers.ts";
import { newName, requireNew, setUp, signInOperator } from "../examples/tour/people.ts";
import { tellPush } from "../examples/tour/push.ts";
import { tellSignIn } from "../examples/tour/sign-in.ts";
import { tellRevocation } from "../examples/tour/revocation.ts";
import { createSession, type Session } from "../examples/tour/session.ts";
import { failWith, UserError } from "./lib/user-error.ts";

const SAME_STOP_MS = 1_000;
const HELP = `npm run tour -- [--url <origin>] [--sweep]

Tells the story of a running platform, and removes its records at the end.

  --url <origin>  the platform; without it, the one of npm start (PORT, PATH_PREFIX)
  --sweep         removes what tours left that were killed, and ends

Example: PORT=9411 npm run tour`;

/**
 * `npm run tour`: tells the platform's story against a running one, by HTTP and the typed client. Shows every request
 * with status and time, and every comparison. Ends with exit code 1 at the first wrong result. Always removes its
 * records at the end.
 *
 * `-- --sweep` removes the records of tours that were killed, and ends.
 *
 * The platform is that of `npm start` (PORT, PATH_PREFIX, PLATFORM), or `-- --url <origin>`, with
 * OPERATOR_CLIENT_SECRET from the environment or `.dev.vars`.
 */
async function tour(): Promise<void> {
  const startedMs = performance.now();
  const { values } = parseArgs({
    options: { url: { type: "string" }, sweep: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) return console.log(HELP);
  const { host, port, config } = readSettings(process.env);
  const origin = values.url === undefined ? `http://${host}:${port}` : new URL(values.url).origin;
  const session = createSession(origin, config.pathPrefix, config.platform, values.url === undefined);

  if (values.sweep === true) return sweep(session, config.operatorSecret);
  console.log(`A tour of ${session.base}`);
  await session.expect(200, getHealth);
  const operator = await signInOperator(session, config.operatorSecret);
  const name = newName();
  await requireNew(session, operator, name);
  let isRemoving = false;
  let isGivenUp = false;
  onStop(() => (isRemoving ? (isGivenUp = true) : session.stop(STOPPED)));
  const remove = (): Promise<readonly string[]> => {
    isRemoving = true;
    return clearUp(session, config.operatorSecret, name, () => isGivenUp);
  };
  const chapters = async (): Promise<void> => {
    const cast = await setUp(session, operator, name);
    await tellEvents(session, cast);
    await tellPush(session, cast, values.url === undefined && config.allowLoopback);
    await tellMedia(session, cast);
    await tellSignIn(session, cast);
    await tellRevocation(session, cast);
  };
  try {
    await chapters();
  } catch (error) {
    // The chapter's error is reported, even if the removal fails too.
    for (const text of await remove()) console.error(text);
    throw error;
  }
  const left = await remove();
  if (left.length > 0) throw new UserError(left.join("\n"));

  const { requests, checks } = session.counts;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  console.log(
    `\n${paint.green("Everything is as it should be")}: ${requests} requests, ${checks} checks, ${seconds} s`,
  );
  console.log(`Every operation: ${session.base}/docs`);
}

async function sweep(session: Session, secret: string): Promise<void> {
  const operator = createAdminClient({
    base: session.base,
    platform: session.platform,
    secret,
    onRepeat: session.note,
  });
  const names = await leftovers(operator, Date.now());
  if (names.length === 0) return console.log("No tour older than an hour has left anything.");
  const left: string[] = [];
  for (const name of names) left.push(...(await clearUp(session, secret, name, () => false)));
  if (left.length > 0) throw new UserError(left.join("\n"));
}

/** One Ctrl-C arrives several times: from the terminal, from npm, from npm's child. */
function onStop(act: () => void): void {
  let lastMs = -Infinity;
  for (const signal of ["SIGINT", "SIGTERM"])
    process.on(signal, () => {
      const nowMs = performance.now();
      if (nowMs - lastMs > SAME_STOP_MS) act();
      lastMs = nowMs;
    });
}

try {
  await tour();
} catch (error) {
  console.error(`\n${paint.red("The tour ends here.")}`);
  failWith(error);
}
