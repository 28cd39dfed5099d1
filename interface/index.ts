import { buildDocument, type Built } from "./document.ts";
import type { Room } from "./entry.ts";
import { account } from "./rooms/account.ts";
import { admin } from "./rooms/admin.ts";
import { events } from "./rooms/events.ts";
import { media } from "./rooms/media.ts";
import { oauth, wellKnown } from "./rooms/oauth.ts";
import { platform } from "./rooms/platform.ts";
import { readTables } from "./tables.ts";

export const ROOMS: readonly Room[] = [oauth, wellKnown, account, events, media, admin, platform];

/** The interface document of the checkout at `root`. */
export const makeDocument = async (root: string): Promise<Built> => buildDocument(await readTables(root), ROOMS);
