import { env } from "cloudflare:workers";
import { afterAll, afterEach, vi } from "vitest";
import { noteSecret, secretsIn } from "../secrets.ts";

/**
 * Reads everything that the Worker logs, down to `debug`, even if a test silences it, and fails the test after which
 * the log contains a secret. It shows only errors.
 */
const LEVELS = ["debug", "log", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

let lines: string[] = [];
/** The runtime's console, which all files share. */
const kept = globalThis as { realConsole?: Readonly<Record<Level, Console[Level]>> };
kept.realConsole ??= Object.fromEntries(LEVELS.map((level) => [level, console[level]])) as Record<
  Level,
  Console[Level]
>;
const real = kept.realConsole;
const spyOn = vi.spyOn;

/** True for a line of the Worker's log (`platform/runtime/log.ts`), false for a line of the test. */
const isOfWorker = (given: readonly unknown[]): boolean => String(given[0]).startsWith('{"level":');

/** Shows the output of the tests, but not the Worker's log. */
function muffle(level: Level): void {
  console[level] = (...given: unknown[]) => {
    if (!isOfWorker(given)) real[level].apply(console, given);
  };
}

/** Wraps the current method of the console, to record its lines. */
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

/** Returns the secrets in the log since the last call, as `password in {"level":"info",…`. It runs after each test. */
export function takeSecretsInLog(): string[] {
  const said = lines;
  lines = [];
  // One search over all lines is enough in most cases, because there is no secret.
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
  // Vitest waits for an answer to each line, and a line of an object that ends meanwhile would get none.
  LEVELS.forEach(muffle);
  expectNone();
});
