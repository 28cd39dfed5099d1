import type { AuditTrail } from "../../platform/ports/audit.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { allExpiredSec } from "./access-token.ts";
import { REVOCATION_BOUND, type RevocationCollapseStore } from "./revocation-collapse-store.ts";

const REASON = `over ${REVOCATION_BOUND.rows} revocations of the platform`;
const ENDED = {
  people: { subject: "users", what: "all that clients got of the people with most of them" },
  clients: { subject: "clients", what: "all that the clients with most of them got" },
  all: { subject: "tenants", what: "all that anybody got" },
} as const;

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
          subject: ENDED[whose].subject,
          reason: `${REASON}: ${ENDED[whose].what} until now is void`,
        }),
      );
      const { people, clients, all } = ended;
      if (all || clients.length + people > 0)
        log.error("revocations collapsed", { people, clients: clients.join(" "), all, reason: REASON });
    } catch (thrown) {
      log.error("revocations not bounded", { error: describeError(thrown) });
    }
  };
