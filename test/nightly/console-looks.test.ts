import { everyPageSuite } from "../acceptance/console/looks.ts";
import { useConsole } from "../acceptance/console/stage.ts";

/** Every page of the console, wide and narrow, light and dark: too many for every change. */
everyPageSuite(useConsole());
