import { firstViewSuite } from "./console/looks.ts";
import { operateSuite } from "./console/operate.ts";
import { useConsole } from "./console/stage.ts";

/** The console of a started platform, in Chromium. Most of its stories take too long for every change: test/nightly. */
const stage = useConsole();

operateSuite(stage);
firstViewSuite(stage);
