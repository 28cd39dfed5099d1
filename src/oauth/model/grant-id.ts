import { randomId, type Random } from "../../platform/runtime/random.ts";

/** Begins with the session's id: the grants of a session are a range of the key, and need no index. */
export const newGrantId = (sessionId: string, random: Random): string => `${sessionId}.${randomId(random)}`;
