import type { AuditTrail } from "../../platform/ports/audit.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { allExpiredSec } from "./access-token.ts";
import { REVOCATION_BOUND, type RevocationCollapseStore } from "./revocation-collapse-store.ts";

const REASON = `over ${REVOCATION_BOUND.rows} revocations of the platform`;

/**
 * Collapses the platform's revocations if there are too many, with an audit row. Runs beside the answer of whoever
 * finds it due, and with the sweep. Never throws: the next one finds it due again.
 */
export const createRevocationCollapse =
  (store: RevocationCollapseStore, audit: AuditTrail, clock: Clock, log: Log) => async (): Promise<void> => {
    const nowMs = clock.nowMs();
    const about = { atMs: nowMs, requestId: "", actor: "", action: "revoke", outcome: "done" } as const;
    try {
      const ended = await store.collapse(allExpiredSec(nowMs), (whose) =>
        audit.statement("if changed", {
          ...about,
          subject: whose === "all" ? "tenants" : "clients",
          reason: `${REASON}: all that ${whose === "all" ? "anybody" : "the clients with most of them"} got until now is void`,
        }),
      );
      if (ended.all || ended.clients.length > 0)
        log.error("revocations collapsed", { clients: ended.clients.join(" "), all: ended.all, reason: REASON });
    } catch (thrown) {
      log.error("revocations not bounded", { error: describeError(thrown) });
    }
  };
