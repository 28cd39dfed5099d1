export {
  createTokenVerifier,
  hasScope,
  type Caller,
  type TokenVerifier,
  type VerifierOptions,
} from "./verify-token.ts";
export { verifyWebhook, WebhookError, type WebhookOptions } from "./webhook.ts";
