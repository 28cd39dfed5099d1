import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import { getDeepHealth, type DeepHealth } from "../../../../api/plinth.ts";
import { operations, whole } from "../../api/client.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { PageLink } from "../../components/plain.tsx";
import { Card } from "../../components/page.tsx";
import { Badge, Loading } from "../../components/states.tsx";
import { useWords } from "../../words/words.ts";

/** Where what a check found is looked at. */
const PLACES: readonly (readonly [name: RegExp, href: string])[] = [
  [/^(outbox|object TopicLog|object TopicConsumer|object PushSubscription)/, "/topics"],
  [/key/, "/keys"],
];

/** What does not work or will not for long, worst first. A failing platform answers 503 with the same checks. */
export function Attention() {
  const { overview: words, navigation } = useWords();
  const health = useQuery({
    queryKey: ["health"],
    refetchInterval: 60_000,
    queryFn: async () => {
      const asked = await getDeepHealth(operations);
      if (asked.status === 503 && "checks" in asked.data) return asked.data;
      return (await whole(Promise.resolve(asked))).data as DeepHealth;
    },
  });
  if (health.isPending)
    return (
      <Card title={words.attention}>
        <Loading rows={1} />
      </Card>
    );
  if (health.data === undefined)
    return (
      <Card title={words.attention}>
        <FaultNotice error={health.error} retry={() => void health.refetch()} />
      </Card>
    );
  const bad = health.data.checks.filter(({ status }) => status !== "ok");
  const sorted = bad.toSorted((one, other) => Number(other.status === "fail") - Number(one.status === "fail"));
  if (sorted.length === 0)
    return (
      <Card className="well">
        <p className="row">
          <CircleCheck aria-hidden size={20} /> {words.allWell}
        </p>
      </Card>
    );
  return (
    <Card title={words.attention} actions={<Badge kind="warn">{String(sorted.length)}</Badge>}>
      <ul className="attention">
        {sorted.map(({ name, status, next }) => {
          const [, href] = PLACES.find(([pattern]) => pattern.test(name)) ?? [];
          return (
            <li key={name} className={status}>
              {status === "fail" ? <CircleAlert aria-hidden size={18} /> : <TriangleAlert aria-hidden size={18} />}
              <div>
                <strong>{name}</strong>
                <p>{next}</p>
              </div>
              {href !== undefined && (
                <PageLink href={href}>{href === "/topics" ? navigation.topics : navigation.keys}</PageLink>
              )}
            </li>
          );
        })}
      </ul>
    </Card>
  );
}
