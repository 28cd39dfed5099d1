import { keepSuite } from "../acceptance/console/keep.ts";
import { useConsole } from "../acceptance/console/stage.ts";

keepSuite(useConsole());
