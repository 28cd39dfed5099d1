import { formsSuite } from "../acceptance/console/forms.ts";
import { useConsole } from "../acceptance/console/stage.ts";

/** Every form of the console with bad input: too slow for every change. */
formsSuite(useConsole());
