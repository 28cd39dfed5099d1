import type { Asked, Route } from "../../http/route.ts";
import type { TopicId } from "../model/topic.ts";
import type { TopicAccess } from "./access.ts";
import type { TopicDirectory } from "./topic-directory.ts";

interface Ports {
  readonly access: TopicAccess;
  readonly directory: TopicDirectory;
}

/** Loads the topic of a request while revocations of the caller's token are read, which saves one wait for D1. */
export const withTopicAhead = (ports: Ports, routes: readonly Route[]): readonly Route[] =>
  routes.map((route) =>
    route.path.startsWith("/topics/{topicOwnerClient}/{eventType}")
      ? { ...route, ahead: (asked) => findAhead(ports, asked as Asked<TopicParams>) }
      : route,
  );

interface TopicParams {
  readonly topicOwnerClient: string;
  readonly eventType: string;
}

/** Checks the right first, so that a token without it cannot cause a call to D1. */
async function findAhead({ access, directory }: Ports, { principal, params, nowMs }: Asked<TopicParams>) {
  const topic: TopicId = { owner: params.topicOwnerClient, eventType: params.eventType };
  if ((await access.mayRead(principal, topic, nowMs)).ok) await directory.find(topic, nowMs);
}
