import { env } from "cloudflare:workers";
import { afterAll, afterEach, vi } from "vitest";
import { noteSecret, secretsIn } from "../secrets.ts";

/**
 * Hears all that the Worker logs, down to `debug`, whether a test silences it or not, and fails the test after which a
 * secret stands there. What is less than an error is not shown.
 */
const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

let lines: string[] = [];
/** The console of the runtime, which all files share. */
const kept = globalThis as { realConsole?: Readonly<Record<Level, Console[Level]>> };
kept.realConsole ??= Object.fromEntries(LEVELS.map((level) => [level, console[level]])) as Record<
  Level,
  Console[Level]
>;
const real = kept.realConsole;
const spyOn = vi.spyOn;

/** A line of the Worker's log (`platform/runtime/log.ts`), and not of the test. */
const isOfWorker = (given: readonly unknown[]): boolean => String(given[0]).startsWith('{"level":');

/** Shows what the tests say, and nothing that the Worker logs. */
function muffle(level: Level): void {
  console[level] = (...given: unknown[]) => {
    if (!isOfWorker(given)) real[level].apply(console, given);
  };
}

/** Puts an ear before whatever is called now. */
function listen(level: Level): void {
  const next = console[level];
  console[level] = (...given: unknown[]) => {
    lines.push(given.map(String).join(" "));
    next.apply(console, given);
  };
}

for (const level of LEVELS) console[level] = real[level];
for (const level of ["debug", "info", "warn"] as const) muffle(level);
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
  // Vitest waits for an answer to each line. A line of an object that ends meanwhile would never get one.
  LEVELS.forEach(muffle);
  expectNone();
});
