import { BrokenAnswer, Connection, type Answer } from "../lib/connection.ts";
import { askFor } from "../lib/exchange.ts";
import type { Work } from "../lib/load.ts";
import { copyId } from "./archive.ts";
import { answerTo, exchangeOf, repeatedly, type Asked } from "./asked.ts";
import type { Kind } from "./operations.ts";
import { TENANT } from "../lib/platform.ts";
import { CLIENTS, type Target } from "./target.ts";
import { collectionOf, CONTENT, PRIVATE_FILE, PUBLIC_FILE, storing, uploading, uploadOne } from "./upload.ts";

/** A quarter of the listed archive is red. */
const ARCHIVE_FILES = 1_000;
export const PAGE_SIZE = 16;
/** Public files that are fetched once each. */
const COPIES = 30_000;

/** Prepares the operations; returns the maker of the work for each. */
export async function worksOf(target: Target): Promise<Readonly<Record<Kind, () => Promise<Work>>>> {
  await target.server.ask({ fill: { client: CLIENTS.archivist, tenant: TENANT, files: ARCHIVE_FILES } });
  const privatePath = `${collectionOf(target, "private")}/${await uploadOne(target, PRIVATE_FILE)}`;
  const publicId = await uploadOne(target, PUBLIC_FILE);
  const publicPath = `${collectionOf(target, "public")}/${publicId}`;
  const redirection = await answerTo(target, publicPath, { status: 302 });
  const [contentLink, etag] = [redirection.header("location") ?? "", redirection.header("etag") ?? ""];
  const contentPath = pathOf(target, contentLink);
  await target.server.ask({ copy: { of: publicId, files: COPIES } });
  const copies = pathsOfCopies(contentPath.replace(publicId, ""));
  const linkAsked = async (): Promise<Asked> => ({
    status: 200,
    headers: await target.authorize("uploader"),
    isRight: (answer) => linkOf(answer).includes("/content/"),
  });
  const content: Asked = { status: 200, isRight: (answer) => answer.bytes().equals(CONTENT) };
  const listing = (query: string) => async (): Promise<Work> =>
    repeatedly(target, `${collectionOf(target, "private")}?tenant=${TENANT}&pageSize=${PAGE_SIZE}${query}`, {
      status: 200,
      headers: await target.authorize("archivist"),
      isRight: (answer) => JSON.parse(answer.body()).length === PAGE_SIZE,
    });

  return {
    upload: async () => uploading(target, await target.authorize("uploader"), PRIVATE_FILE),
    store: async () => storing(target, await target.authorize("uploader"), PRIVATE_FILE),
    link: async () => repeatedly(target, privatePath, await linkAsked()),
    redirect: async () =>
      repeatedly(target, publicPath, { status: 302, isRight: (answer) => answer.header("location") === contentLink }),
    "not-modified": async () => repeatedly(target, publicPath, { status: 304, headers: { "if-none-match": etag } }),
    "content-private": async () => {
      const link = linkOf(await answerTo(target, privatePath, await linkAsked()));
      return repeatedly(target, pathOf(target, link), content);
    },
    "content-missed": async () => eachOnce(target, copies),
    "content-cached": async () => repeatedly(target, contentPath, content),
    list: listing(""),
    "list-query": listing("&q=color:red"),
  };
}

const pathOf = ({ server }: Target, link: string): string => link.slice(server.origin.length);
const linkOf = (answer: Answer): string => JSON.parse(answer.body()).link;

function* pathsOfCopies(contentBase: string): Generator<string, void> {
  for (let copy = 0; copy < COPIES; copy++) yield `${contentBase}${copyId(copy)}`;
}

/** Each step fetches the content of the next file, whichever client takes it. */
const eachOnce = (target: Target, paths: Iterator<string, void>): Work => ({
  async connect() {
    const connection = await Connection.open(target.server);
    return {
      async step() {
        const path = paths.next().value;
        if (path === undefined) throw new BrokenAnswer(`all of ${COPIES} files were fetched: measure for less time`);
        const { request, status } = exchangeOf(target, path, { status: 200 });
        await askFor(status, connection, request);
      },
      close: () => connection.close(),
    };
  },
});
