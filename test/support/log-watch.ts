import { env } from "cloudflare:workers";
import { afterAll, afterEach, vi } from "vitest";
import { noteSecret, secretsIn } from "./secrets.ts";

/**
 * Hears all that the Worker logs, down to `debug`, whether a test silences it or not, and fails the test after which a
 * secret stands there. What is less than an error is not shown.
 */
const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

let lines: string[] = [];
/** As a file finds them and leaves them to the next one. */
const before = LEVELS.map((level) => [level, console[level]] as const);
const spyOn = vi.spyOn;

/** Puts an ear before whatever is called now. */
function listen(level: Level): void {
  const next = console[level];
  console[level] = (...given: unknown[]) => {
    lines.push(given.map(String).join(" "));
    next.apply(console, given);
  };
}

for (const level of ["debug", "info", "warn"] as const) {
  const show = console[level];
  // A line of the Worker's log (`platform/log.ts`), and not of the test.
  console[level] = (...given: unknown[]) => {
    if (!String(given[0]).startsWith('{"level":')) show.apply(console, given);
  };
}
for (const level of LEVELS) listen(level);

vi.spyOn = ((object: object, key: never) => {
  const spy = spyOn(object as never, key);
  if (object === console && LEVELS.includes(key)) listen(key);
  return spy;
}) as unknown as typeof vi.spyOn;

for (const name of ["OPERATOR_CLIENT_SECRET", "SEAL_KEYS"] as const)
  for (const value of env[name].split(/[,:]/)) noteSecret(name, value);

/** What stands in the log since this was last asked: `password in {"level":"info",…`. Asked after each test. */
export function takeSecretsInLog(): string[] {
  const said = lines;
  lines = [];
  // Most often there is nothing, which one look at the whole says.
  if (secretsIn(said.join("\n")).length === 0) return [];
  return said.flatMap((line) => secretsIn(line).map((what) => `${what} in ${line}`));
}

function expectNone(): void {
  const found = takeSecretsInLog();
  if (found.length > 0) throw new Error(`The log has secrets:\n${found.join("\n")}`);
}

afterEach(expectNone);
afterAll(() => {
  vi.restoreAllMocks();
  vi.spyOn = spyOn;
  for (const [level, method] of before) console[level] = method;
  expectNone();
});
