import { useConsole } from "../acceptance/console/stage.ts";
import { watchSuite } from "../acceptance/console/watch.ts";

/** More stories of the console: too slow for every change. */
watchSuite(useConsole());
