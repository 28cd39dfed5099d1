import type { Operation } from "../../src/http/callers/rights.ts";
import { makeTopic, upload } from "../fuzz/belongings.ts";
import { call, expectJson, type CallInit } from "../support/platform/call.ts";
import type { World } from "./rights-world.ts";

/** A request that succeeds for the owner, below the service's base by the route's path. */
export interface Sample {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly init?: CallInit;
  /** The status for the owner, unless any success will do. */
  readonly owner?: number;
  /** True if each caller who may change the resource gets a new one. */
  readonly changes?: boolean;
}

/** The client's resources: a topic with an event and a push subscription, two files, a deletion. */
export interface Owned {
  readonly topic: { readonly topicOwnerClient: string; readonly eventType: string };
  readonly files: { readonly private: string; readonly public: string };
  readonly pending: { readonly private: string; readonly public: string };
  readonly erasure: string;
}

const subscription = (name: string) => ({
  name,
  pushConfig: { endpoint: "https://hooks.example.com/x", basicAuth: { username: "u", password: "p" } },
});
const SUBSCRIPTION = "warehouse";

export async function makeOwnedTopic(token: string, subscribed = true): Promise<Owned["topic"]> {
  const { owner, eventType, path } = await makeTopic(token);
  await expectJson(await call(`${path}/publish`, { token, json: { payload: "secret" } }), 201);
  if (subscribed)
    await expectJson(await call(`${path}/subscriptions`, { token, json: subscription(SUBSCRIPTION) }), 201);
  return { topicOwnerClient: owner, eventType };
}

const PLACES = { private: "files", public: "public/files" } as const;

export async function makeOwnedFile(token: string, visibility: "private" | "public"): Promise<string> {
  const file = await upload(token, PLACES[visibility], "text");
  await expectJson(await call(file.commitLink, { token, json: { album: "summer" } }), 202);
  return file.id;
}

export const makePendingFile = async (token: string, visibility: "private" | "public"): Promise<string> =>
  (await upload(token, PLACES[visibility], "text")).id;

export async function makeOwned({ own, app }: Pick<World, "own" | "app">): Promise<Owned> {
  const gone = await makeOwnedFile(own, "private");
  await call(`/media/v2/files/${gone}`, { method: "DELETE", token: own });
  const erasures = await expectJson(await call(`/media/v2/erasures?tenant=${app.tenant}`, { token: own }), 200);
  return {
    topic: await makeOwnedTopic(own),
    files: { private: await makeOwnedFile(own, "private"), public: await makeOwnedFile(own, "public") },
    pending: { private: await makePendingFile(own, "private"), public: await makePendingFile(own, "public") },
    erasure: erasures[0].id,
  };
}

/** Input of a sample: the world, the owned resources, and whether the route is for public or private files. */
export interface Asked {
  readonly world: World;
  readonly owned: Owned;
  readonly visibility: "private" | "public";
  /** A batch of the caller, or of the owner if the caller may hold none. */
  readonly lock: () => Promise<string>;
  /** True if the resource is the caller's own. */
  readonly mine: boolean;
  readonly unique: string;
}

const topic = ({ owned }: Asked) => owned.topic;
const file = ({ owned, visibility }: Asked) => ({ fileId: owned.files[visibility] });
const subscribed = (asked: Asked) => ({ ...topic(asked), name: SUBSCRIPTION });
const ofTenant = ({ world }: Asked) => ({ tenant: world.app.tenant });

/** Samples by operation: public ones need none, and the operator's are called by their paths. */
export const SAMPLES: Partial<Record<Operation, (asked: Asked) => Sample | Promise<Sample>>> = {
  listTopics: () => ({}),
  createTopic: (asked) => ({ init: { json: { eventType: asked.unique } }, changes: true }),
  readTopic: (asked) => ({ params: topic(asked) }),
  deleteTopic: (asked) => ({ params: topic(asked), changes: true }),
  publishEvents: (asked) => ({ params: topic(asked), init: { json: { payload: "forged" } }, changes: true }),
  readEvents: (asked) => ({ params: topic(asked), init: { json: { ttlMs: 60_000 } }, changes: true }),
  commitEvents: async (asked) => ({
    params: topic(asked),
    init: { json: { token: await asked.lock() } },
    changes: true,
  }),
  extendLock: async (asked) => ({
    params: topic(asked),
    init: { json: { token: await asked.lock(), ttlMs: 1000 } },
    changes: true,
  }),
  releaseLock: async (asked) => ({
    params: topic(asked),
    init: { json: { token: await asked.lock() } },
    changes: true,
  }),
  listConsumers: (asked) => ({ params: topic(asked) }),
  removeConsumer: (asked) => ({ params: { ...topic(asked), consumer: "unknown" } }),
  lookAtEvents: (asked) => ({ params: topic(asked) }),
  seekEvents: (asked) => ({ params: topic(asked), init: { json: { to: "newest" } }, changes: true }),
  listSubscriptions: (asked) => ({ params: topic(asked) }),
  createSubscription: (asked) => ({
    params: topic(asked),
    init: { json: subscription(asked.unique) },
    changes: true,
  }),
  readSubscription: (asked) => ({ params: subscribed(asked) }),
  updateSubscription: (asked) => ({
    params: subscribed(asked),
    init: {
      json: { pushConfig: { endpoint: "https://hooks.example.com/y", basicAuth: { username: "u", password: "q" } } },
    },
    changes: true,
  }),
  deleteSubscription: (asked) => ({ params: subscribed(asked), changes: true }),
  listSubscribers: (asked) => ({ params: topic(asked) }),
  endSubscriber: async (asked) => {
    const { topicOwnerClient, eventType } = topic(asked);
    const path = `/pubsub/v1/topics/${topicOwnerClient}/${eventType}/subscribers`;
    const [{ id }] = await expectJson(await call(path, { token: asked.world.own }), 200);
    return { params: { ...topic(asked), subscriberId: id }, changes: true };
  },
  listDeliveries: (asked) => ({ params: subscribed(asked) }),
  // Nothing was delivered yet, so the owner gets 404 too.
  redeliverEvent: (asked) => ({ params: { ...subscribed(asked), eventId: "0000000000000000-0" }, owner: 404 }),
  rotateSigningSecret: (asked) => ({ params: subscribed(asked), changes: true }),
  // The limit is one a second for each subscription.
  testSubscription: (asked) => ({ params: subscribed(asked), changes: true }),
  createFile: () => ({ changes: true }),
  commitFile: (asked) => ({ params: { fileId: asked.owned.pending[asked.visibility] }, changes: true }),
  fetchPrivateFile: (asked) => ({ params: file(asked) }),
  deleteFile: (asked) => ({ params: file(asked), changes: true }),
  readMetadata: (asked) => ({ params: file(asked) }),
  replaceMetadata: (asked) => ({ params: file(asked), init: { json: { album: "stolen" } }, changes: true }),
  listVariants: (asked) => ({ params: file(asked) }),
  // A text file has no variants and gets none.
  createVariants: (asked) => ({ params: file(asked), query: { clip: "10x10" }, owner: 400 }),
  deleteVariants: (asked) => ({ params: file(asked), changes: true }),
  listFiles: (asked) => ({ query: ofTenant(asked) }),
  deleteFiles: (asked) => ({ query: { ...ofTenant(asked), q: asked.mine ? "album:none" : "album:summer" } }),
  createBulkVariants: (asked) => ({ query: { ...ofTenant(asked), clip: "10x10" } }),
  deleteBulkVariants: (asked) => ({ query: { ...ofTenant(asked), clip: "10x10" } }),
  listErasures: (asked) => ({ query: ofTenant(asked) }),
  readErasure: (asked) => ({ params: { erasureId: asked.owned.erasure } }),
  readUserInfo: () => ({}),
  listRefreshTokens: () => ({}),
  // Deleting all would end the tokens of the other samples.
  deleteRefreshTokens: () => ({ query: { clientId: "another.client" } }),
  deleteRefreshToken: () => ({ params: { id: "none" }, owner: 404 }),
};
