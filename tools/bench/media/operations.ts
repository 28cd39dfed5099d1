import type { Operation } from "../lib/bench.ts";

/** Operations of every subject, and their numbers of clients. */
const KINDS = {
  upload: { label: "upload and commit 64 KiB", clients: [1, 16] },
  store: { label: "store 64 KiB in one request", clients: [1, 16] },
  link: { label: "link to a private file", clients: [1, 16] },
  redirect: { label: "redirection to a public file", clients: [16] },
  "not-modified": { label: "304 for a public file", clients: [16] },
  "content-private": { label: "64 KiB by a temporary link", clients: [16] },
  "content-missed": { label: "64 KiB of a public file, each the first time", clients: [16] },
  "content-cached": { label: "64 KiB of a public file, in the edge cache", clients: [1, 16] },
  list: { label: "list 16 of 1,000 files", clients: [1, 16] },
  "list-query": { label: "list 16 of 250 matching files of 1,000", clients: [1, 16] },
} as const;

export type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];

const operationId = (kind: Kind, clients: number): string => `${kind}-by-${clients}`;

export const operations: readonly Operation[] = kinds.flatMap((kind) =>
  KINDS[kind].clients.map((clients) => ({
    id: operationId(kind, clients),
    label: `${KINDS[kind].label}, ${clients} client${clients === 1 ? "" : "s"}`,
    clients,
  })),
);

/** Maps operation ids to the value of their kind. */
export const forOperations = <T>(made: Readonly<Record<Kind, T>>): Record<string, T> =>
  Object.fromEntries(
    kinds.flatMap((kind) => KINDS[kind].clients.map((clients) => [operationId(kind, clients), made[kind]])),
  );
