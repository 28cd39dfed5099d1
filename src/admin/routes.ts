import type { Route } from "../http/route.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
export interface AdminDeps {
  readonly names: Names;
  readonly db: D1Database;
  readonly random: Random;
  recordsChanged(): void;
}
export function createAdminRoutes(_deps: AdminDeps): Route[] {
  return [];
}
