import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import { getDeepHealth, getMetrics, readAttention, type DeepHealth } from "../../../../api/plinth.ts";
import { answer, operations, whole } from "../../api/client.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { PageLink } from "../../components/plain.tsx";
import { Card } from "../../components/page.tsx";
import { Badge, Loading } from "../../components/states.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { doesLagGrow, sumOf } from "./metrics.ts";

const REFRESH_MS = 60_000;
/** Metrics of this time say whether something goes wrong now. */
const RECENT_MS = 3_600_000;

/** Where what a check found is looked at. */
const PLACES: readonly (readonly [name: RegExp, href: string])[] = [
  [/^(outbox|object TopicLog|object TopicConsumer|object PushSubscription)/, "/topics"],
  [/key/, "/keys"],
];

/** A line of the list, and the page where it is mended. */
interface Line {
  readonly key: string;
  readonly status: "fail" | "warn";
  readonly title: string;
  readonly text: string;
  readonly href?: string | undefined;
}

/** What does not work or will not for long, worst first, each one click from where it is mended. */
export function Attention() {
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
          <CircleCheck aria-hidden size={20} /> {words.allWell}
        </p>
      </Card>
    );
  const pageOf = (href: string): string =>
    ({ topics: navigation.topics, keys: navigation.keys, people: navigation.people, tenants: navigation.tenants })[
      href.split("/")[1] ?? ""
    ] ?? navigation.services;
  return (
    <Card title={words.attention} actions={<Badge kind="warn">{String(sorted.length)}</Badge>}>
      <ul className="attention">
        {sorted.map(({ key, status, title, text, href }) => (
          <li key={key} className={status}>
            {status === "fail" ? <CircleAlert aria-hidden size={18} /> : <TriangleAlert aria-hidden size={18} />}
            <div>
              <strong>{title}</strong>
              <p>{text}</p>
            </div>
            {href !== undefined && <PageLink href={href}>{pageOf(href)}</PageLink>}
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
        return { key, status: "warn", title: subject, text, href: `/people/${subject}` };
      }
      case "quota_almost_full":
        return { key, status: "warn", title: subject, text: words.quotaFull(number), href: `/tenants/${subject}` };
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
    queryFn: () => {
      const to = Date.now();
      const metric = ["requests", "consumer_lag"].join(",");
      return answer(getMetrics({ $from: to - RECENT_MS, to, step: "minute", metric }, operations));
    },
  });
  const lines: Line[] = [];
  if (query.data !== undefined) {
    const series = query.data.series.filter(({ service }) => service === "gateway");
    const failures = sumOf({ ...query.data, series }, "requests", (label) => label === "5xx");
    if (failures > 0)
      lines.push({
        key: "gateway",
        status: "warn",
        title: words.servicesSilent,
        text: words.servicesSilentText(format.number(failures)),
        href: "/services",
      });
    const lag = doesLagGrow(query.data);
    if (lag !== undefined)
      lines.push({
        key: "lag",
        status: "warn",
        title: words.lagGrows,
        text: words.lagGrowsText(format.number(lag)),
        href: "/topics",
      });
  }
  return { query, lines };
}
