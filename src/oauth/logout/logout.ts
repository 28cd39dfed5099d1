import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import type { Trust } from "../tokens/trust.ts";
import type { LogoutNotice, LogoutStore } from "./logout-store.ts";
import { issueLogoutToken } from "./logout-token.ts";

/**
 * Back-channel logout (OpenID Connect Back-Channel Logout 1.0): a client that is registered with an address is told
 * there when a session ends in which its person signed in to it.
 *
 *   tokens for a client ── with the code ──▶ session_client: who is to be told
 *   the session ends ───── same transaction, by trigger ──▶ logout_notice, one for each client
 *   drain, at once and by the cron: take a notice ─▶ POST logout_token ─▶ 200, 204: settled
 *                                                                     └▶ anything else: later, eight times in a day
 *
 * A session ends by `/end_session`, at the account page, by another person's sign-in in the browser, by a new password,
 * and by the operator. Its own end after 12 h is not told, since clients know it.
 *
 * At least once: a drain that is cut off after the client answered sends the notice again, with the same `jti`. Two
 * drains at a time share the notices, because taking one is a conditional write.
 */
export interface LogoutDeps {
  readonly store: LogoutStore;
  readonly trust: Pick<Trust, "signingKey">;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly allowLoopback: boolean;
}

/** A drain takes at most the 30 s that an invocation has after its answer. */
const DRAIN = { notices: 50, atOnce: 6, attemptMs: 5_000, runMs: 20_000 } as const;
/** The pauses before the next attempt. The cron looks every five minutes. */
const PAUSES_MS = [60_000, 300_000, 900_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000] as const;

/** A platform without such clients is asked for them this often, beside an answer. */
const UNUSED_MS = 60_000;

export type Logouts = ReturnType<typeof createLogouts>;

export function createLogouts({ store, trust, clock, log, tracing, allowLoopback }: LogoutDeps) {
  async function tell(notice: LogoutNotice): Promise<void> {
    const { id, clientId, sid, attempts, address } = notice;
    const pauseMs = PAUSES_MS[attempts];
    const about = { noticeId: id, clientId, sessionId: sid, attempt: attempts + 1 };
    if (!(await store.take(notice, clock.nowMs() + (pauseMs ?? DRAIN.runMs)))) return;
    const failed = await post(notice);
    if (failed !== undefined) log.warn("client not told of a logout", { ...about, host: hostOf(address), failed });
    else log.info("client told of a logout", about);
    if (failed === undefined || pauseMs === undefined) await store.settle(notice);
  }

  /** The reason if the client was not told. */
  async function post(notice: LogoutNotice): Promise<string | undefined> {
    const address = parseOutboundUrl(notice.address, allowLoopback);
    if (!address.ok) return address.error;
    const body = new URLSearchParams({ logout_token: await issueLogoutToken(notice, trust, clock.nowMs()) });
    const what = { "server.address": address.value.hostname };
    return tracing.child("POST logout token", what, async (span) => {
      try {
        const signal = AbortSignal.timeout(DRAIN.attemptMs);
        const response = await fetch(address.value, { method: "POST", body, redirect: "manual", signal });
        await response.body?.cancel();
        span.set({ "http.response.status_code": response.status });
        return response.status === 200 || response.status === 204 ? undefined : `status ${response.status}`;
      } catch (thrown) {
        span.fail("unreachable");
        return describeError(thrown);
      }
    });
  }

  /** When no client was registered to be told. */
  let unusedAtMs = Number.NEGATIVE_INFINITY;
  return {
    rememberStatement: store.rememberStatement,
    /** False while this isolate knows that nobody is to be told; the cron tells those who are registered meanwhile. */
    isUsed: (): boolean => Math.abs(clock.nowMs() - unusedAtMs) >= UNUSED_MS,
    recordsChanged: (): void => void (unusedAtMs = Number.NEGATIVE_INFINITY),
    /** Tells every client that is to be told now. */
    async drain(): Promise<void> {
      const endsMs = clock.nowMs() + DRAIN.runMs;
      for (;;) {
        const { due, isUsed } = await store.due(clock.nowMs(), DRAIN.notices);
        unusedAtMs = isUsed ? Number.NEGATIVE_INFINITY : clock.nowMs();
        const queue = [...due];
        const work = async (): Promise<void> => {
          for (let next = queue.shift(); next !== undefined && clock.nowMs() < endsMs; next = queue.shift())
            // A client that was unregistered meanwhile is not told.
            await (next.address === "" ? store.settle(next) : tell(next));
        };
        // One that fails leaves its share to the others. What it has taken is due again after its pause.
        const ends = await Promise.allSettled(Array.from({ length: DRAIN.atOnce }, work));
        throwTogether(ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : [])));
        if (due.length < DRAIN.notices || clock.nowMs() >= endsMs) return;
      }
    },
  };
}

const hostOf = (address: string): string => URL.parse(address)?.host ?? "";
