import type { RequestMeter } from "../http/request-meter.ts";
import type { FlushingMeter } from "./meter.ts";

const STATUS_CLASSES = ["", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** Counts each request, and writes it as a point to Analytics Engine if that is bound. */
export function createRequestMeter(meter: FlushingMeter, analytics: AnalyticsEngineDataset | undefined): RequestMeter {
  return {
    answered(request) {
      const {
        service,
        operation = "",
        tenant,
        clientId,
        status,
        durationMs,
        waitedMs,
        refusal,
        bytesIn,
        bytesOut,
      } = request;
      const by = { service, tenant };
      const statusClass = STATUS_CLASSES[Math.floor(status / 100)] ?? "5xx";
      meter.add("requests", { ...by, label: statusClass });
      meter.observe("request_time", by, durationMs);
      if (waitedMs > 0) meter.observe("wait_time", by, waitedMs);
      if (refusal !== undefined) meter.add("refusals", { ...by, label: refusal });
      // The bytes of a file count at its commit, for the tenant that it then belongs to.
      const isFile = operation === "uploadFile" || (operation === "createFile" && status === 202);
      if (bytesIn > 0 && !isFile) meter.add("received_bytes", by, bytesIn);
      if (bytesOut > 0) meter.add("sent_bytes", by, bytesOut);
      analytics?.writeDataPoint({
        indexes: [tenant],
        blobs: [service, operation, statusClass, tenant, clientId, refusal ?? ""],
        doubles: [status, durationMs, bytesIn, bytesOut, waitedMs],
      });
    },
    flushBeside: meter.flushBeside,
  };
}
