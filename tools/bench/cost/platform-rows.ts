import type { StudyContext } from "../lib/study.ts";
import { call } from "../lib/exchange.ts";
import type { Meter } from "./meter.ts";
import { ALL_OVER_MS } from "./oauth.ts";
import { COUNTED } from "./study.ts";
import { TENANT, type Platform } from "../lib/platform.ts";
import type { Row } from "./tables.ts";

/** The gateway and the operator service. */
export async function gatewayRows(
  platform: Platform,
  meter: Meter,
  repetitions: number,
  { serverOf }: StudyContext,
): Promise<Row[]> {
  const { base, put } = platform;
  const server = await serverOf(COUNTED);
  const sourceUrl = await server.ask({ service: true });
  const service = { sourceUrl, scopes: [], essential: false, tenant: TENANT };
  await put("services/open", { ...service, proxyPath: "/open/v1", access: "public" });
  await put("services/closed", { ...service, proxyPath: "/closed/v1", access: "token" });
  const headers = await (await platform.client("caller", [])).authorize();
  const measure = (label: string, step: (index: number) => Promise<unknown>) =>
    meter.measure({ label, repetitions, step });
  const change = await measure("an operator changes a tenant", (index) =>
    put(`tenants/${TENANT}`, { organization: "bench", name: `Bench ${index}` }),
  );
  const rows = [
    await measure("a request through the gateway", () => call("GET", `${base}/open/v1/small`)),
    await measure("… by a token", () => call("GET", `${base}/closed/v1/small`, { headers })),
  ];
  let changes = 0;
  const later = await meter.deletedLater({
    repetitions,
    begin: async () => () => put(`tenants/${TENANT}`, { organization: "bench", name: `Later ${(changes += 1)}` }),
    async end() {
      await meter.advance(ALL_OVER_MS);
      await server.ask({ cronAtMs: meter.nowMs() });
    },
  });
  return [...rows, { ...change, later }];
}
