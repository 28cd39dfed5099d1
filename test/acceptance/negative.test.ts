import { checklistSuite } from "./negative/checklist.ts";
import { clientsSuite } from "./negative/clients.ts";
import { existenceSuite } from "./negative/existence.ts";
import { inputSuite } from "./negative/input.ts";
import { logsSuite } from "./negative/logs.ts";
import { pagesSuite } from "./negative/pages.ts";
import { parametersSuite } from "./negative/parameters.ts";
import { redirectsSuite } from "./negative/redirects.ts";
import { refreshSuite } from "./negative/refresh.ts";
import { useStage } from "./negative/stage.ts";
import { tokensSuite } from "./negative/tokens.ts";

/**
 * What attackers and strict readers try, over HTTP, on a platform as it is deployed (PUBLIC_URL, logs at `info`). Each
 * test names the sections that ask for it; `negative/checklist.md` has those that other tests show. Whatever is sent,
 * `negative/laws.ts` holds of every answer, and in the end nothing secret stands in any log.
 */
const stage = useStage();

redirectsSuite(stage);
pagesSuite(stage);
parametersSuite(stage);
clientsSuite(stage);
existenceSuite(stage);
tokensSuite(stage);
refreshSuite(stage);
inputSuite(stage);
logsSuite(stage);
checklistSuite();
