import { env } from "cloudflare:workers";

interface Methods {
  prepare?(sql: string): unknown;
  batch?(statements: D1PreparedStatement[]): Promise<unknown>;
}

/** Returns the database with these methods instead of its own. */
export const databaseWith = (db: D1Database, methods: Methods): D1Database =>
  new Proxy(db, {
    get(target, name) {
      const value: unknown = methods[name as keyof Methods] ?? Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });

/** Returns the directory with these methods instead of its own. `env.DB` keeps its methods. */
export const directoryWith = (methods: Methods): D1Database => databaseWith(env.DB, methods);
