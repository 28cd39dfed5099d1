import type { StudyContext } from "../lib/study.ts";
import { call } from "../lib/exchange.ts";
import type { Meter } from "./meter.ts";
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
  return [
    await measure("a request through the gateway", () => call("GET", `${base}/open/v1/small`)),
    await measure("… by a token", () => call("GET", `${base}/closed/v1/small`, { headers })),
    await measure("an operator changes a tenant", (index) =>
      put(`tenants/${TENANT}`, { organization: "bench", name: `Bench ${index}` }),
    ),
  ];
}
