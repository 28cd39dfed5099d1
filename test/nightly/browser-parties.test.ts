import { agentSuite } from "../acceptance/browser/agents.ts";
import { providerSuite } from "../acceptance/browser/providers.ts";
import { useStage } from "../acceptance/browser/stage.ts";

/** People between the platform and others: an agent that nobody registered, and identity providers. */
const stage = useStage();

agentSuite(stage);
// They change the sign-in pages.
providerSuite(stage);
