import { DurableObject } from "cloudflare:workers";
export class TopicConsumer extends DurableObject {}
