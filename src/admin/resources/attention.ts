import { defineRoute, json, type Route } from "../../http/route.ts";
import { rowBefore, WALK_ROWS } from "../audit/audit-store.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

/**
 * The list of work that needs a person and that deep health does not report: blocked accounts, pushes that fail,
 * clients that were not told of logouts, and quotas that are almost full. Each part reads a limited number of rows and
 * asks a limited number of objects.
 */
export interface AttentionPorts {
  readonly oauth: {
    /** Returns the end of an account's block; undefined: the account is not blocked. */
    blockedUntil(email: string): Promise<number | undefined>;
  };
  readonly events: {
    readonly operated: {
      troubled(): Promise<
        readonly {
          readonly kind: (typeof PUSH_KINDS)[number];
          readonly id: string;
          readonly topic: string;
          readonly name: string;
          readonly count: number | null;
        }[]
      >;
    };
  };
  readonly media: {
    nearQuota(share: number, among: number, limit: number): Promise<readonly NearQuota[]>;
  };
}

interface NearQuota {
  readonly tenant: string;
  readonly files: number;
  readonly bytes: number;
  readonly mostFiles: number | null;
  readonly mostBytes: number | null;
}

interface Item {
  readonly kind: string;
  /** An e-mail address, a subscription's id, a client, or a tenant. */
  readonly subject: string;
  readonly topic: string | null;
  readonly name: string | null;
  readonly count: number | null;
  readonly untilAt: number | null;
}

const PUSH_KINDS = ["push_stopped", "push_failing", "dead_letters"] as const;
/** Our choice: an operator acts on the first items, and looks again. Of each kind, so that none hides another. */
const MOST = { items: 20, auditRows: 1_000, tenants: 1_000 } as const;
const ALMOST_FULL = 0.9;
/** The longest block. */
const BLOCK_MS = 8 * HOUR_MS;
const BLOCKED = `
  SELECT DISTINCT subject FROM (
    SELECT subject, reason FROM audit_entry
    WHERE seq > max(${rowBefore("?1")}, (SELECT max(seq) FROM audit_entry) - ${WALK_ROWS}) AND action = 'sign in' AND at > ?1
    ORDER BY seq DESC LIMIT ?2)
  WHERE reason LIKE '%is blocked% from now on' LIMIT ?3`;
/** This statement may read all dead letters, because there are at most 10,000. */
const UNTOLD = `
  SELECT client, count(*) AS count FROM logout_notice INDEXED BY logout_notice_by_death WHERE dead_at > 0
  GROUP BY client ORDER BY count DESC LIMIT ?1`;

export const attentionRoute = ({ db, oauth, events, media }: AttentionPorts & { readonly db: D1Database }): Route =>
  defineRoute({
    method: "GET",
    path: "/attention",
    summary:
      "What needs a person: blocked accounts, failing pushes, dead letters, untold logouts, quotas that are almost full",
    operation: "readAttention",
    async handle({ nowMs }) {
      const [accounts, pushes, untold, quotas] = await Promise.all([
        blockedAccounts(db, oauth, nowMs),
        events.operated.troubled(),
        db.prepare(UNTOLD).bind(MOST.items).all<{ client: string; count: number }>(),
        media.nearQuota(ALMOST_FULL, MOST.tenants, MOST.items),
      ]);
      const items: readonly Item[] = [
        ...accounts,
        ...PUSH_KINDS.flatMap((kind) => pushes.filter((push) => push.kind === kind).slice(0, MOST.items)).map(
          ({ kind, id, topic, name, count }) => ({ kind, subject: id, topic, name, count, untilAt: null }),
        ),
        ...untold.results.map(({ client, count }) => item("logouts_untold", client, { count })),
        ...quotas.map((one) => item("quota_almost_full", one.tenant, { count: percentOf(one) })),
      ];
      return json(200, { items }, { "cache-control": "no-store" });
    },
  });

/** Finds accounts whose block began in the last hours, and asks their objects whether it still lasts. */
async function blockedAccounts(
  db: D1Database,
  oauth: AttentionPorts["oauth"],
  nowMs: number,
): Promise<readonly Item[]> {
  const { results } = await db
    .prepare(BLOCKED)
    .bind(nowMs - BLOCK_MS, MOST.auditRows, MOST.items)
    .all<{ subject: string }>();
  const emails = results.map(({ subject }) => subject.slice("users/".length)).filter((email) => email !== "");
  const ends = await Promise.all(emails.map(async (email) => ({ email, untilAt: await oauth.blockedUntil(email) })));
  return ends.flatMap(({ email, untilAt }) =>
    untilAt === undefined ? [] : [item("account_blocked", email, { untilAt })],
  );
}

const item = (kind: string, subject: string, more: { readonly count?: number; readonly untilAt?: number }): Item => ({
  kind,
  subject,
  topic: null,
  name: null,
  count: more.count ?? null,
  untilAt: more.untilAt ?? null,
});

/** Returns the use of the fuller quota in percent. */
function percentOf({ files, bytes, mostFiles, mostBytes }: NearQuota): number {
  const share = (used: number, most: number | null): number => (most === null ? 0 : most === 0 ? 1 : used / most);
  return Math.round(100 * Math.max(share(files, mostFiles), share(bytes, mostBytes)));
}
