import { call, expectJson } from "../../support/platform/call.ts";

/** The `error` of a response. */
export const errorOf = async (response: Response, status = 400): Promise<string> =>
  (await expectJson<{ error: string }>(response, status)).error;

export const tokenInfo = (token: string): Promise<Response> =>
  call(`/oauth2/v1/tokeninfo?access_token=${encodeURIComponent(token)}`);

export const isLiving = async (token: string): Promise<boolean> => (await tokenInfo(token)).status === 200;

/** `status error` */
export const failureOf = async (response: Response): Promise<string> =>
  `${response.status} ${(await response.json<{ error: string }>()).error}`;

/** The status and the error that the header of a resource's refusal names. */
export const refusalOf = (response: Response): string =>
  `${response.status} ${/error="([^"]+)"/.exec(response.headers.get("www-authenticate") ?? "")?.[1] ?? ""}`;

export async function statusAt(path: string, token: string): Promise<number> {
  const response = await call(path, { token });
  await response.body?.cancel();
  return response.status;
}
