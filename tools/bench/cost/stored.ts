import { PAYLOAD_BYTES } from "../events/payload.ts";
import { whole } from "../lib/statistics.ts";
import type { Study } from "../lib/study.ts";
import { call } from "../lib/exchange.ts";
import { publishing, topics } from "./events.ts";
import { ARCHIVE_FILES, makeArchivist } from "./media.ts";
import { Meter } from "./meter.ts";
import { makePerson } from "./person.ts";
import { openPlatform, TENANT } from "../lib/platform.ts";
import { COUNTED } from "./study.ts";

const EVENTS = 2_000;
const FILES = 20_000;
/** Visits by a browser, each with a grant whose refresh token is used. */
const GRANTS = 300;
const GB = 1_000_000_000;
/** The limit of an object and of a D1 database. */
const LIMIT_GB = 10;

/** Bytes for one of each, and how many fit. */
export const storedStudy: Study = {
  id: "stored",
  label: "What is stored",
  async run(context) {
    const server = await context.serverOf(COUNTED);
    const platform = await openPlatform(server);
    const meter = new Meter(server, context);
    /** The bytes that a step adds. */
    const growth = async (size: () => Promise<number>, step: () => Promise<unknown>): Promise<number> => {
      const before = await size();
      await step();
      return (await size()) - before;
    };
    const inObjects = (step: () => Promise<unknown>) => growth(() => meter.objectBytes(), step);
    const inDatabase = (step: () => Promise<unknown>) => growth(() => server.ask({ databaseSize: true }), step);
    const rows: string[][] = [];

    const owner = await platform.client("keeper", ["pubsub_publish", "pubsub.topic=*"]);
    const topicOf = await topics(platform, owner);
    const headers = await owner.authorize();
    const events = Math.min(EVENTS, context.maxEvents);
    for (const batch of [1, 100]) {
      context.progress(`events, ${batch} at once`);
      const publish = await publishing(await topicOf(`kept-${batch}`), owner, batch);
      await publish();
      const bytes = await inObjects(async () => {
        for (let there = 0; there < events; there += batch) await publish();
      });
      rows.push(rowOf(`an event of ${PAYLOAD_BYTES} bytes, published ${batch} at once`, bytes / events));
    }
    let topic = "";
    const make = async (): Promise<void> => void (topic = await topicOf("kept"));
    rows.push(["a topic's shard without events, an object", whole(await inObjects(make)), "–"]);
    const read = () => call("POST", `${topic}/read`, { status: 204, headers, json: {} });
    rows.push(["a reader of a topic, an object", whole(await inObjects(read)), "–"]);

    context.progress("grants");
    const person = await makePerson(platform);
    await person.signIn();
    const grants = await inDatabase(async () => {
      for (let there = 0; there < GRANTS; there++) await person.refresh((await person.comeAgain()).refresh_token);
    });
    rows.push(rowOf("what D1 gets of a visit: code, grant, two refresh tokens", grants / GRANTS));

    context.progress("files");
    const archivist = await makeArchivist(platform, server);
    const files = Math.min(FILES, context.maxEvents);
    const fill = { client: archivist.id, tenant: TENANT, files: ARCHIVE_FILES + files };
    rows.push(
      rowOf("a file with three attributes, its rows in D1", (await inDatabase(() => server.ask({ fill }))) / files),
    );
    return { tables: [{ head: ["", "bytes each", `of them in ${LIMIT_GB} GB`], rows }], marks: [] };
  },
};

const rowOf = (label: string, bytes: number): string[] => [
  label,
  whole(bytes),
  Number(((LIMIT_GB * GB) / bytes).toPrecision(2)).toLocaleString("en"),
];
