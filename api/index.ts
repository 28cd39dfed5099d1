import { buildDocument, type Built } from "./document.ts";
import type { ServiceEntries } from "./model/entry.ts";
import { account } from "./services/account.ts";
import { admin } from "./services/admin.ts";
import { events } from "./services/events.ts";
import { media } from "./services/media.ts";
import { oauth, wellKnown } from "./services/oauth.ts";
import { health } from "./services/health.ts";
import { platform } from "./services/platform.ts";
import { readTables } from "./tables.ts";

export const SERVICES: readonly ServiceEntries[] = [oauth, wellKnown, account, events, media, admin, health, platform];

/** Builds the interface document of the checkout at `root`. */
export const makeDocument = async (root: string): Promise<Built> => buildDocument(await readTables(root), SERVICES);
