import { commandLineSuite } from "../acceptance/browser/command-line.ts";
import { looksSuite } from "../acceptance/browser/looks.ts";
import { useStage } from "../acceptance/browser/stage.ts";

/** How the pages look, and the command line that signs in by a browser: too slow for every change. */
const stage = useStage();

looksSuite(stage);
commandLineSuite(stage);
