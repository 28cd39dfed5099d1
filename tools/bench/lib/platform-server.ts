import { offerPlatform } from "./offer-platform.ts";

await offerPlatform();
