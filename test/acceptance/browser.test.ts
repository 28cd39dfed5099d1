import { accountPageSuite } from "./browser/account-page.ts";
import { consentSuite } from "./browser/consent.ts";
import { defencesSuite } from "./browser/defences.ts";
import { implicitSuite } from "./browser/implicit.ts";
import { oidcClientSuite } from "./browser/oidc-client-ts.ts";
import { passkeySuite } from "./browser/passkeys.ts";
import { signInPageSuite } from "./browser/sign-in-page.ts";
import { useStage } from "./browser/stage.ts";
import { useSharedWorld } from "./support/use-world.ts";

/** Chromium before a platform, and an application on another site. */
const stage = useStage(useSharedWorld("plain"));

signInPageSuite(stage);
accountPageSuite(stage);
defencesSuite(stage);
consentSuite(stage);
passkeySuite(stage, "essential");
oidcClientSuite(stage);
implicitSuite(stage);
