import type { Provider } from "./scripted-provider.ts";
import type { SentOff } from "./sent-off.ts";

export const comeBack = (
  provider: Pick<Provider, "id">,
  { browser, state }: SentOff,
  parameters: Record<string, string> = {},
): Promise<Response> =>
  browser.get(
    `/oauth2/v1/callback/${provider.id}?${new URLSearchParams({ state, code: "the code", ...parameters }).toString()}`,
  );
