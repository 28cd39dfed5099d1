import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventsApp } from "../support/events-app.ts";
import { makeTopic, type WireEvent } from "../support/test-topic.ts";
import { runs } from "../../support/model-runs.ts";

const app = eventsApp();

/** Characters that JSON, SQLite, UTF-8, JavaScript or our own line breaks between events might break. */
const ODD = [
  "\u0000",
  "\u001f",
  "\u007f",
  "\u0085",
  "\n",
  "\r\n",
  '"',
  "\\",
  "\\u0000",
  ",",
  "]}",
  "\u2028",
  "\u2029",
  "\ufeff",
  "\ufffd",
  "\ufffe",
  "\ud800",
  "\udfff",
  "\udc00\ud800",
  "\u{1f600}",
  "\u{10ffff}",
  "e\u0301",
  "é",
  "\u202e",
  "%00",
  "' OR 1=1 --",
];
/** Any UTF-16 code unit, halves of surrogate pairs included; any code point; and the odd ones. */
const text = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point)),
      fc.constantFrom(...ODD),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));
const oddKey = fc.constantFrom(
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "id",
  "payload",
  "",
  "0",
  "1e3",
);
const metadata = fc.array(fc.tuple(fc.oneof(oddKey, text), text), { maxLength: 6 }).map((entries) => new Map(entries));
const event = fc.record({ payload: text, metadata: fc.option(metadata, { nil: undefined }) });
type Given = typeof event extends fc.Arbitrary<infer E> ? E : never;

/** As JSON text with any keys: assignment cannot set `__proto__` on a JavaScript object. */
function jsonOf({ payload, metadata: given }: Given): string {
  const entries = [...(given ?? [])].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
  return `{"payload":${JSON.stringify(payload)}${given === undefined ? "" : `,"metadata":{${entries.join(",")}}`}}`;
}

/** The code units of a text, so that texts that only look the same differ. */
const units = (value: string) => Array.from({ length: value.length }, (_, at) => value.charCodeAt(at)).join(" ");
const byKey = ([a]: readonly [string, string], [b]: readonly [string, string]) => (a < b ? -1 : a > b ? 1 : 0);
const unitsOf = (payload: string, entries: Iterable<readonly [string, string]> | undefined) => ({
  payload: units(payload),
  metadata:
    entries === undefined ? undefined : [...entries].toSorted(byKey).map(([key, value]) => [units(key), units(value)]),
});
const came = (one: WireEvent) =>
  unitsOf(one.payload, one.metadata === undefined ? undefined : Object.entries(one.metadata));
const sent = (one: Given) => unitsOf(one.payload, one.metadata);

describe("a payload and its metadata come back as they were sent", () => {
  // shows: events/event/payload
  it("keeps any characters, one by one and in a batch, when read, repeated and peeked at", async () => {
    const topic = await makeTopic(app);
    const headers = { "content-type": "application/json" };
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 8 }), fc.boolean(), async (events, isBatch) => {
        const bodies = isBatch ? [`[${events.map(jsonOf).join(",")}]`] : events.map(jsonOf);
        const ids: string[] = [];
        for (const body of bodies) {
          const response = await app.call(`${topic.path}/publish`, { as: topic.owner, body, headers });
          expect(response.status).toBe(201);
          ids.push(...(await response.json<{ ids: string[] }>()).ids);
        }
        const once = { headers: { ...headers, "idempotency-key": ids[0]! } };
        const read = await topic.read({ numEvents: 1000 }, once);
        expect(read.events.map(came)).toEqual(events.map(sent));
        expect(read.events.map(({ id }) => id)).toEqual(ids);
        expect((await topic.read({ numEvents: 1000 }, once)).events).toEqual(read.events);
        expect((await topic.commit(read.token)).status).toBe(200);
        const looked = await app.call(`${topic.path}/events?after=${ids[0]!}&limit=1000`, { as: topic.owner });
        expect((await looked.json<{ events: WireEvent[] }>()).events).toEqual(read.events.slice(1));
      }),
      { numRuns: runs(25) },
    );
  });

  it("accepts any JSON spelling: raw or escaped, upper or lower case, with white space", async () => {
    const topic = await makeTopic(app);
    const spellings = [
      [String.raw`"\u0041\u00e9\u2028\uFEFF\ud83d\uDE00\/\b"`, "Aé\u2028\ufeff😀/\b"],
      [`"Aé\u2028\ufeff😀/\u007f\u0085"`, "Aé\u2028\ufeff😀/\u007f\u0085"],
      [String.raw`"\uDE00\ud83d"`, "\ude00\ud83d"],
    ] as const;
    for (const [spelt, meant] of spellings) {
      const body = new TextEncoder().encode(`\t{ "metadata" : {${spelt}:${spelt}} ,\r\n "payload":${spelt} } `);
      const headers = { "content-type": "application/json" };
      const response = await app.call(`${topic.path}/publish`, { as: topic.owner, body, headers });
      expect(response.status).toBe(201);
      const [got] = (await topic.read({ autoCommit: true })).events;
      expect(came(got!)).toEqual(unitsOf(meant, [[meant, meant]]));
    }
  });

  it("answers in well-formed UTF-8 JSON, with the halves of pairs escaped", async () => {
    const topic = await makeTopic(app);
    const payload = ODD.join("");
    await topic.put({ payload });
    const { response } = await topic.read();
    const bytes = new Uint8Array(await response.arrayBuffer());
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    expect(units((JSON.parse(strict) as { events: WireEvent[] }).events[0]!.payload)).toBe(units(payload));
  });
});
