import type { Topic, TopicOptions } from "../../packages/sdk/src/index.ts";
import type { Caller } from "../session/caller.ts";
import { UsageError } from "../terminal/usage-error.ts";

export const TOPIC_ARG = {
  name: "topic",
  help: "its event type, for a topic of your application; or <owner>/<event type>",
} as const;

/** The topic of a name: `orderPlaced` of the application itself, or `demo.shop/orderPlaced` of another client. */
export function topicOf({ who, plinth }: Caller, text: string, options?: TopicOptions): Topic {
  const parts = text.split("/");
  const [owner, eventType] = parts.length === 1 ? [who.kind === "app" ? who.clientId : undefined, text] : parts;
  if (parts.length > 2 || eventType === "" || owner === "")
    throw new UsageError(`${text} is no topic: orderPlaced, or demo.shop/orderPlaced.`);
  if (owner === undefined)
    throw new UsageError(`A person owns no topic. Name the owner too: <owner>/${text}, as demo.shop/${text}.`);
  return plinth.topic(owner, eventType ?? "", options);
}

export const nameOf = ({ owner, eventType }: Topic): string => `${owner}/${eventType}`;
