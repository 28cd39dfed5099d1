import { call } from "../lib/exchange.ts";
import type { Meter } from "./meter.ts";
import { makePerson } from "./person.ts";
import { type Platform } from "../lib/platform.ts";
import type { Row } from "./tables.ts";

/** Tokens of services and of a person. */
export async function oauthRows(platform: Platform, meter: Meter, repetitions: number): Promise<Row[]> {
  const oauth = `${platform.base}/oauth2/v1`;
  const client = await platform.client("service", []);
  const person = await makePerson(platform);
  const measure = (label: string, step: () => Promise<unknown>, times = repetitions) =>
    meter.measure({ label, repetitions: times, step });

  const rows: Row[] = [await measure("client_credentials token", client.token)];
  const token = await client.token();
  const asked = { headers: { authorization: client.authorization }, form: { token } };
  rows.push(await measure("tokeninfo", () => call("GET", `${oauth}/tokeninfo?access_token=${token}`)));
  rows.push(await measure("introspection", () => call("POST", `${oauth}/introspect`, asked)));

  // Hashing a password takes some 70 ms.
  const few = Math.ceil(repetitions / 5);
  rows.push(await measure("a person signs in: page, form, code redeemed", person.signIn, few));
  rows.push(await measure("the browser comes again: code, redeemed", person.comeAgain));
  let tokens = await person.comeAgain();
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  rows.push(await measure("userinfo", () => call("GET", `${oauth}/userinfo`, { headers })));
  const refresh = async (): Promise<void> => void (tokens = await person.refresh(tokens.refresh_token));
  rows.push(await measure("refresh token used", refresh));
  return rows;
}
