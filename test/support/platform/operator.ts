import { call } from "./call.ts";
import { tokenFor } from "./tokens.ts";

/** The client of the operator. Tests make changes as an operator does. */
export const OPERATOR = { clientId: "plat.operator", clientSecret: "an-operator-secret-for-tests-only" };

/** One token serves many changes, because the preparation takes half the time of a test. */
let operator: Promise<string> | undefined;

/** Makes a change as the operator, by a PUT that must be answered with 200 or 201. */
export async function put(path: string, json: unknown): Promise<any> {
  const send = async () =>
    call(`/admin/v1/${path}`, { method: "PUT", token: await (operator ??= tokenFor(OPERATOR)), json });
  let response = await send();
  // The token may have ended, because tests move the clock and replace keys.
  if (response.status === 401) {
    operator = undefined;
    response = await send();
  }
  const text = await response.text();
  if (response.status !== 200 && response.status !== 201) throw new Error(`PUT ${path}: ${response.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

/** A request of the operator, with a token of its own. */
export const operate = async (path: string, method = "GET", json?: unknown): Promise<Response> =>
  call(`/admin/v1/${path}`, { method, token: await tokenFor(OPERATOR), ...(json === undefined ? {} : { json }) });

/** Registers a service behind the gateway, at an address and a path with its name. */
export const putService = (name: string, fields: { tenant: string; scopes?: readonly string[]; essential?: boolean }) =>
  put(`services/${name}`, {
    sourceUrl: `https://${name}.example`,
    proxyPath: `/${name}`,
    scopes: [],
    access: "token",
    ...fields,
  });
