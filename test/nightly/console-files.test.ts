import { mediaSuite } from "../acceptance/console/media.ts";
import { useConsole } from "../acceptance/console/stage.ts";

/**
 * The console's story of files, with fifty photographs: each makes a variant, so it takes too long for every change.
 */
mediaSuite(useConsole(), 50);
