import { createPlinth } from "@plinth/sdk";
import { PLATFORM_URL } from "../session/config.ts";
import { token } from "../session/session.ts";

/** The whole SDK, for pages that need more than operations, such as uploads. */
export const plinth = createPlinth({ url: PLATFORM_URL, credentials: token, attempts: 3 });
