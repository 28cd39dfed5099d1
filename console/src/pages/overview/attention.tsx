import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import {
  getBusiestTenants,
  getDeepHealth,
  getMetrics,
  readAttention,
  type DeepHealth,
} from "../../../../api/plinth.ts";
import { answer, operations, whole } from "../../api/client.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { PageLink } from "../../components/plain.tsx";
import { Card } from "../../components/page.tsx";
import { Badge, Loading } from "../../components/states.tsx";
import { PLATFORM_URL } from "../../session/config.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { doesLagGrow, SMALL_LAG, sumsByLabel } from "./metrics.ts";

const REFRESH_MS = 60_000;
/** The time whose metrics show whether something goes wrong now. */
const RECENT_MS = 3_600_000;

/** The pages for findings of checks. Other findings are mended outside of the console, as the documentation says. */
const PLACES: readonly (readonly [name: RegExp, href: string])[] = [
  [/^(outbox|object TopicLog|object TopicConsumer|object PushSubscription)/, "/topics"],
  [/^(queue|erasures)/, "/media/work"],
  [/key/, "/keys"],
];
const HANDBOOK = `${PLATFORM_URL}/docs/operate/health-and-alerts`;
/** The number of shown tenants whose readers are behind, the worst ones. */
const LAGGING = 3;

/** A line of the list, with the page where the problem is mended. */
interface Line {
  readonly key: string;
  readonly status: "fail" | "warn";
  readonly title: string;
  readonly text: string;
  /** The page of the console. */
  readonly href?: string | undefined;
}

/**
 * A list of problems and of problems to come, the worst first, each with a link to the page where it is mended.
 * `isFaultTold`: the page already says that the platform does not answer.
 */
export function Attention({ isFaultTold }: { readonly isFaultTold: boolean }) {
  const { overview: words, navigation } = useWords();
  const checks = useChecks();
  const found = useFound();
  const traffic = useTraffic();
  const asked = [checks.query, found.query, traffic.query];
  if (asked.some(({ isPending }) => isPending))
    return (
      <Card title={words.attention}>
        <Loading rows={1} />
      </Card>
    );
  const failed = asked.find(({ data }) => data === undefined);
  if (failed !== undefined && isFaultTold) return null;
  if (failed !== undefined)
    return (
      <Card title={words.attention}>
        <FaultNotice error={failed.error} retry={() => void failed.refetch()} />
      </Card>
    );
  const lines = [...checks.lines, ...found.lines, ...traffic.lines];
  const sorted = lines.toSorted((one, other) => Number(other.status === "fail") - Number(one.status === "fail"));
  if (sorted.length === 0)
    return (
      <Card className="well">
        <p className="row">
          <CircleCheck aria-hidden /> {words.allWell}
        </p>
      </Card>
    );
  const pageOf = (href: string): string =>
    ({
      topics: navigation.topics,
      keys: navigation.keys,
      people: navigation.people,
      tenants: navigation.tenants,
      media: navigation.files,
      applications: navigation.applications,
    })[/^\/([a-z]+)/.exec(href)?.[1] ?? ""] ?? navigation.services;
  return (
    <Card title={words.attention} actions={<Badge kind="warn">{String(sorted.length)}</Badge>}>
      <ul className="attention">
        {sorted.map(({ key, status, title, text, href }) => (
          <li key={key} className={status}>
            {status === "fail" ? <CircleAlert aria-hidden /> : <TriangleAlert aria-hidden />}
            <div>
              <strong>{title}</strong>
              <p>{text}</p>
            </div>
            {href === undefined ? (
              <a className="link" href={HANDBOOK} target="_blank" rel="noreferrer">
                {words.handbook}
              </a>
            ) : (
              <PageLink href={href}>{pageOf(href)}</PageLink>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Checks of the platform's parts. A failing platform answers 503 with the same checks. */
function useChecks() {
  const query = useQuery({
    queryKey: ["health"],
    refetchInterval: REFRESH_MS,
    queryFn: async () => {
      const asked = await getDeepHealth(operations);
      if (asked.status === 503 && "checks" in asked.data) return asked.data;
      return (await whole(Promise.resolve(asked))).data as DeepHealth;
    },
  });
  const bad = query.data?.checks.filter(({ status }) => status !== "ok") ?? [];
  const lines = bad.map(({ name, status, next }): Line => {
    const [, href] = PLACES.find(([pattern]) => pattern.test(name)) ?? [];
    return { key: name, status: status === "fail" ? "fail" : "warn", title: name, text: next, href };
  });
  return { query, lines };
}

/** Accounts, pushes and tenants that the service names. */
function useFound() {
  const { overview: words } = useWords();
  const format = useFormats();
  const query = useQuery({
    queryKey: ["attention"],
    refetchInterval: REFRESH_MS,
    queryFn: () => answer(readAttention(operations)),
  });
  const lines = (query.data?.items ?? []).map(({ kind, subject, topic, name, count, untilAt }): Line => {
    const key = `${kind} ${subject}`;
    const number = format.number(count ?? 0);
    switch (kind) {
      case "account_blocked": {
        const text = words.accountBlocked(untilAt === null ? "" : format.moment(untilAt));
        return { key, status: "warn", title: subject, text, href: `/people/${encodeURIComponent(subject)}` };
      }
      case "logouts_untold":
        return {
          key,
          status: "warn",
          title: subject,
          text: words.logoutsUntold(number),
          href: `/applications/${subject}`,
        };
      case "quota_almost_full":
        return {
          key,
          status: "warn",
          title: subject,
          text: words.quotaFull(number),
          href: `/tenants/${subject}`,
        };
      default: {
        const text =
          kind === "dead_letters"
            ? words.deadLetters(number)
            : kind === "push_failing"
              ? words.pushFailing(number)
              : words.pushStopped;
        const status = kind === "push_stopped" ? "fail" : "warn";
        return { key, status, title: `${name} (${topic})`, text, href: pushPage(topic ?? "", subject) };
      }
    }
  });
  return { query, lines };
}

/** A topic's name is its owner, which has one dot, and its event type. */
function pushPage(topic: string, id: string): string {
  const [, owner = "", eventType = ""] = /^([^.]*\.[^.]*)\.(.*)$/.exec(topic) ?? [];
  return `/topics/${owner}/${eventType}/push/${id}`;
}

/** Lag that grows, and services behind the gateway that do not answer. */
function useTraffic() {
  const { overview: words } = useWords();
  const format = useFormats();
  const query = useQuery({
    queryKey: ["metrics", "attention"],
    refetchInterval: REFRESH_MS,
    queryFn: async () => {
      const to = Date.now();
      const time = { $from: to - RECENT_MS, to };
      const metric = ["service_failures", "consumer_lag"].join(",");
      const metrics = await answer(getMetrics({ ...time, step: "minute", metric }, operations));
      if (doesLagGrow(metrics) === undefined) return { metrics, lagging: [] };
      // Whoever was behind before and is not now stays out of it.
      const ranked = { $from: to - RECENT_MS / 4, to, metric: "consumer_lag", top: LAGGING } as const;
      const { tenants } = await answer(getBusiestTenants(ranked, operations));
      return { metrics, lagging: tenants.filter(({ value }) => value >= SMALL_LAG) };
    },
  });
  const { metrics, lagging } = query.data ?? { metrics: undefined, lagging: [] };
  const silent = (metrics === undefined ? [] : sumsByLabel(metrics, "service_failures")).map(
    ([service, failures]): Line => ({
      key: `service ${service}`,
      status: "warn",
      title: words.serviceSilent(service),
      text: words.serviceSilentText(format.number(failures)),
      href: "/services",
    }),
  );
  const behind = lagging.map(({ tenant, value }): Line => ({
    key: `lag ${tenant}`,
    status: "warn",
    title: words.lagGrows(tenant),
    text: words.lagGrowsText(format.number(value)),
    href: `/topics?tenant=${tenant}`,
  }));
  return { query, lines: [...silent, ...behind] };
}
