import { buildDocument, type Built } from "./document.ts";
import { admin } from "./rooms/admin.ts";
import { events } from "./rooms/events.ts";
import { media } from "./rooms/media.ts";
import { oauth, wellKnown } from "./rooms/oauth.ts";
import { platform } from "./rooms/platform.ts";
import { readTables } from "./tables.ts";

/** The interface document of the checkout at `root`. */
export const makeDocument = async (root: string): Promise<Built> =>
  buildDocument(await readTables(root), [oauth, wellKnown, events, media, admin, platform]);
