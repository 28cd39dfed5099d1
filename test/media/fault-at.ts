import { env } from "cloudflare:workers";

/**
 * The real database and bucket with one failing operation: the one with this number, `before` or `after` it takes
 * effect.
 */
export interface Faults {
  readonly db: D1Database;
  readonly bucket: R2Bucket;
  /** Counts an operation of another kind, too. */
  around<T>(perform: () => Promise<T>): Promise<T>;
  /** Starts anew; the operation to fail, counted from 0. */
  arm(number: number, when: "before" | "after"): void;
  /** The number of operations since then. */
  seen(): number;
}

export function faultAt(): Faults {
  let [failing, when, count] = [Infinity, "before", 0];
  const around = async <T>(perform: () => Promise<T>): Promise<T> => {
    const fails = count++ === failing;
    if (fails && when === "before") throw new Error("injected: not done");
    const done = await perform();
    if (fails) throw new Error("injected: done, and its answer is lost");
    return done;
  };
  const counted = <T extends object>(target: T, names: readonly string[]): T =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (!names.includes(String(name))) return value.bind(target) as unknown;
        return (...args: unknown[]) => around(async () => value.apply(target, args) as unknown);
      },
    });
  const real = new WeakMap<object, D1PreparedStatement>();
  const statement = (target: D1PreparedStatement): D1PreparedStatement => {
    const plain = counted(target, ["first", "run", "all"]);
    const made = new Proxy(plain, {
      get: (_, name) =>
        name === "bind"
          ? (...args: unknown[]) => statement(target.bind(...args))
          : (Reflect.get(plain, name) as unknown),
    });
    real.set(made, target);
    return made;
  };
  const db = {
    prepare: (sql: string) => statement(env.DB.prepare(sql)),
    batch: (statements: D1PreparedStatement[]) =>
      around(() => env.DB.batch(statements.map((item) => real.get(item) ?? item))),
  } as unknown as D1Database;
  return {
    db,
    bucket: counted(env.MEDIA, ["head", "get", "put", "delete", "list"]),
    around,
    arm(number, at) {
      [failing, when, count] = [number, at, 0];
    },
    seen: () => count,
  };
}
