import { firstViewSuite } from "./console/looks.ts";
import { mediaSuite } from "./console/media.ts";
import { operateSuite } from "./console/operate.ts";
import { useConsole } from "./console/stage.ts";

/** The console of a started platform, in Chromium. The looks of every page: test/nightly/console-looks.test.ts. */
const stage = useConsole();

operateSuite(stage);
mediaSuite(stage, 12);
firstViewSuite(stage);
