import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { unique } from "../../support/platform/unique.ts";
import { directoryWith } from "../../support/directory.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectJson } from "../../support/platform/call.ts";
import { addFiles, makeOwner } from "./listing-files.ts";

/** The length of the longest statement since the last reset. */
let longest = 0;
const db = directoryWith({
  prepare(sql) {
    longest = Math.max(longest, sql.length);
    return env.DB.prepare(sql);
  },
});
const app = mediaApp({ db });

/** The largest query has 20 terms with two values each, 20 content types and 4 sort keys. */
const TERMS = Array.from({ length: 20 }, (_, at) => `key${at}:${at}`).join(" ");
const TYPES = ["image/png", ...Array.from({ length: 19 }, (_, at) => `application/x-type-${at};charset=utf-8`)];
const SORT = "key1:desc,key2,missing:desc,key3";
const LARGEST = [
  ["q", TERMS],
  ["content-type", TYPES.join(",")],
  ["sort", SORT],
  ["pageSize", "2"],
].map(([name, value]) => `&${name}=${encodeURIComponent(value!)}`);
const listPath = (query: string) => `/media/v2/files?tenant=acme${query}`;

const matching = Object.fromEntries(
  Array.from({ length: 20 }, (_, at) => [`key${at}`, at % 2 === 0 ? at : String(at)]),
);
const more = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`more${at}`, at]));

describe("the largest request", () => {
  it.each([false, true])(
    "is one short statement for each plan (files with more pairs than the index takes: %s)",
    async (hasMore) => {
      const { caller, ownerId } = await makeOwner();
      const as = principal({ clientName: caller.client });
      const others = { ...matching, key0: "another" };
      const files = [matching, others, ...(hasMore ? [{ ...more, ...matching }] : []), matching, matching];
      const plain = files.map((metadata, at) => ({ id: `${at}-${unique("f")}`, metadata, type: "image/png" }));
      await addFiles(ownerId, plain);
      const expected = plain.filter(({ metadata }) => metadata !== others).map(({ id }) => id);
      longest = 0;
      for (const query of [LARGEST.join(""), LARGEST.join("").replace(/&sort=[^&]*/, "")]) {
        const found = [];
        for (const number of ["", "&pageNumber=2"]) {
          const answer = await app.call(listPath(`${query}${number}`), { as });
          found.push(...(await expectJson<{ id: string }[]>(answer, 200)).map(({ id }) => id));
        }
        expect([...found].sort()).toEqual(expected.slice(0, 4).sort());
      }
      expect(longest).toBeGreaterThan(0);
      expect(longest).toBeLessThan(60_000);
    },
  );

  it("is a short walk too, if too many files match to be collected", async () => {
    const { caller, ownerId } = await makeOwner();
    const as = principal({ clientName: caller.client });
    const plain = Array.from({ length: 24 }, (_, at) => ({
      id: `${String(at).padStart(2, "0")}-${unique("f")}`,
      metadata: at % 2 === 0 ? matching : { ...more, ...matching },
      type: "image/png",
    }));
    await addFiles(ownerId, plain);
    longest = 0;
    for (const query of [LARGEST.join(""), `${LARGEST.join("")}&pageNumber=2`])
      expect((await app.call(listPath(query), { as })).status).toBe(200);
    expect(longest).toBeGreaterThan(10_000);
    expect(longest).toBeLessThan(60_000);
  });
});
