import { commandLineSuite } from "../acceptance/browser/command-line.ts";
import { factorLooksSuite } from "../acceptance/browser/factor-looks.ts";
import { factorsAndLinksSuite } from "../acceptance/browser/factors-and-links.ts";
import { looksSuite } from "../acceptance/browser/looks.ts";
import { passkeySuite } from "../acceptance/browser/passkeys.ts";
import { useStage } from "../acceptance/browser/stage.ts";

/**
 * How the pages look, the command line that signs in by a browser, and the stories of one-time codes and mailed links
 * in both directions, and of passkeys beyond the essential ones: too slow for every change.
 */
const stage = useStage();

looksSuite(stage);
factorLooksSuite(stage);
commandLineSuite(stage);
factorsAndLinksSuite(stage);
passkeySuite(stage, "other");
