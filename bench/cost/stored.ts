import { PAYLOAD_BYTES } from "../events/payload.ts";
import type { Study } from "../lib/study.ts";
import { publishing, topics } from "./events.ts";
import { Meter } from "./meter.ts";
import { ARCHIVE_FILES, makeArchivist } from "./media.ts";
import { openPlatform, PLINTH, TENANT } from "./platform.ts";

const EVENTS = 2_000;
const FILES = 20_000;
const GB = 1_000_000_000;
/** Of an object, and of a database of D1. */
const LIMIT_GB = 10;

/** What one event and one file take, so how many fit. */
export const storedStudy: Study = {
  id: "stored",
  label: "What is stored",
  async run(context) {
    const server = await context.serverOf(PLINTH);
    const platform = await openPlatform(server);
    const meter = new Meter(server, context);
    const owner = await platform.makeClient("keeper", ["pubsub_publish"]);
    const topicOf = await topics(platform, owner);
    const rows: string[][] = [];
    const events = Math.min(EVENTS, context.maxEvents);
    for (const batch of [1, 100]) {
      context.progress(`events, ${batch} at once`);
      const publish = await publishing(await topicOf(`kept-${batch}`), owner, batch);
      await publish();
      const before = await meter.objectBytes();
      for (let there = 0; there < events; there += batch) await publish();
      rows.push(
        rowOf(
          `an event of ${PAYLOAD_BYTES} bytes, published ${batch} at once`,
          ((await meter.objectBytes()) - before) / events,
        ),
      );
    }
    context.progress("files");
    const files = Math.min(FILES, context.maxEvents);
    const archivist = await makeArchivist(platform, server);
    const before = await server.ask({ databaseSize: true });
    await server.ask({ fill: { client: archivist.id, tenant: TENANT, files: ARCHIVE_FILES + files } });
    const after = await server.ask({ databaseSize: true });
    rows.push(rowOf("a file with three attributes, its rows in D1", (after - before) / files));
    return { tables: [{ head: ["", "bytes each", `of them in ${LIMIT_GB} GB`], rows }], marks: [] };
  },
};

const rowOf = (label: string, bytes: number): string[] => [
  label,
  Math.round(bytes).toLocaleString("en"),
  Number(((LIMIT_GB * GB) / bytes).toPrecision(2)).toLocaleString("en"),
];
