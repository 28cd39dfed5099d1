import { RUN_MS, RUNS_OF_A_DAY } from "../../../src/platform/storage/slice.ts";
import { call } from "../lib/exchange.ts";
import type { Meter } from "./meter.ts";
import type { StudyContext } from "../lib/study.ts";
import { makePerson } from "./person.ts";
import { COUNTED } from "./study.ts";
import { type Platform } from "../lib/platform.ts";
import type { Row } from "./tables.ts";

/** Tokens of services and of a person. */
export async function oauthRows(
  platform: Platform,
  meter: Meter,
  repetitions: number,
  { serverOf }: StudyContext,
): Promise<Row[]> {
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
  const signIn = await measure("a person signs in: page, form, code redeemed", person.signIn, few);
  const comeAgain = await measure("the browser comes again: code, redeemed", person.comeAgain);
  let tokens = await person.comeAgain();
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const userinfo = await measure("userinfo", () => call("GET", `${oauth}/userinfo`, { headers }));
  const refresh = async (): Promise<void> => void (tokens = await person.refresh(tokens.refresh_token));
  const refreshed = await measure("refresh token used", refresh);

  const server = await serverOf(COUNTED);
  const end = async (): Promise<void> => {
    await meter.advance(ALL_OVER_MS);
    // Each run looks at a part of the keys.
    for (let run = 0; run < RUNS_OF_A_DAY; run++) await server.ask({ cronAtMs: meter.nowMs() + run * RUN_MS });
  };
  const ofSignIn = await meter.deletedLater({ repetitions: few, begin: async () => person.signIn, end });
  const after = (step: () => Promise<unknown>) => async () => {
    tokens = await person.signIn();
    return step;
  };
  const ending = { repetitions, besides: ofSignIn, end };
  const ofComing = await meter.deletedLater({ ...ending, begin: after(person.comeAgain) });
  const ofRefresh = await meter.deletedLater({ ...ending, begin: after(refresh) });
  return [
    ...rows,
    { ...signIn, later: ofSignIn },
    { ...comeAgain, later: ofComing },
    userinfo,
    { ...refreshed, later: ofRefresh },
  ];
}

/** Codes live a minute, sessions twelve hours, used refresh tokens 30 days, rows of the audit log 90. */
export const ALL_OVER_MS = 91 * 24 * 60 * 60_000;
