import { badgatewaySuite } from "./oauth-clients/badgateway.ts";
import { oauth4webapiSuite } from "./oauth-clients/oauth4webapi.ts";
import { originalClientsSuite } from "./oauth-clients/original-clients.ts";
import { openidClientSuite } from "./oauth-clients/openid-client.ts";
import { passportSuite } from "./oauth-clients/passport-oauth2.ts";
import { simpleOAuth2Suite } from "./oauth-clients/simple-oauth2.ts";
import { useSharedWorld } from "./support/use-world.ts";

/** Libraries that others wrote, unmodified and as their documentation says, against one platform, below a path. */
const world = useSharedWorld("based");

openidClientSuite(world);
oauth4webapiSuite(world);
simpleOAuth2Suite(world);
passportSuite(world);
badgatewaySuite(world);
originalClientsSuite(world);
