import { DurableObject } from "cloudflare:workers";
export class TopicLog extends DurableObject {}
