import { useConsole } from "../acceptance/console/stage.ts";
import { tendSuite } from "../acceptance/console/tend.ts";
import { watchSuite } from "../acceptance/console/watch.ts";

/** More stories of the console: too slow for every change. */
const stage = useConsole();

tendSuite(stage);
watchSuite(stage);
