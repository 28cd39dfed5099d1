import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { encodePng, gradient } from "../support/images.ts";
import { mediaApp, principal, START_MS, stored, uploaded } from "./media-app.ts";

it("every statement finds its rows by an index", async () => {
  const statements = new Set<string>();
  const db = new Proxy(env.DB, {
    get(target, name) {
      if (name === "prepare")
        return (sql: string) => {
          statements.add(sql);
          return target.prepare(sql);
        };
      return (target as any)[name].bind(target);
    },
  });
  const app = mediaApp({ db });
  const as = principal();
  const picture = await encodePng(gradient(20, 20));
  const file = await stored(app, picture, { as, query: "?clip=5x5,6x6" });
  await app.consume();
  await app.call(`${file.path}?clip=5x5`, { as });
  await app.call(`${file.path}/metadata`, { as });
  await app.call(`${file.path}/metadata`, { as, method: "PUT", json: {} });
  await app.call(`${file.path}/variants?crop=5x5`, { as, method: "POST" });
  await app.consume({ dead: true });
  await app.call(`${file.path}/variants?clip=5x5`, { as, method: "DELETE" });
  await app.call(`${file.path}/variants?clip=7x7`, { as, method: "POST" });
  await uploaded(app, picture, { as });
  await app.media.sweep(START_MS + 86_400_000);
  await app.call(file.path, { as, method: "DELETE" });
  await app.settle();
  await app.media.sweep(START_MS + 2 * 86_400_000);

  // As many as the stores have: none is left out.
  expect(statements.size).toBe(27);
  for (const sql of statements) {
    const parameters = Math.max(...[...sql.matchAll(/\?(\d+)/g)].map(([, index]) => Number(index)));
    const values = Array.from({ length: parameters }, () => null);
    const explained = env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values);
    const plan = await explained.all<{ detail: string }>();
    const scans = plan.results
      .map(({ detail }) => detail)
      .filter((detail) => /\bSCAN (?!json_each|value|CONSTANT)/.test(detail));
    expect([sql, scans]).toEqual([sql, []]);
  }
});
