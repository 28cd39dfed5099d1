import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import {
  getOperatedTopic,
  listOperatedSubscriptions,
  type OperatedSubscription,
  type OperatedTopicReport,
} from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { Button, TextLink } from "../../components/button.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../components/page.tsx";
import { Badge } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { EventBrowser } from "./event-browser.tsx";
import { MoveCursor } from "./move-cursor.tsx";
import { PublishEvent } from "./publish-event.tsx";
import { SubscriptionBadge } from "./subscription-badge.tsx";

const REFRESH_MS = 10_000;

/** One topic: its size, the lag of its consumers, its push subscriptions, and its events. */
export function Page() {
  const { topics: words } = useWords();
  const format = useFormats();
  const { owner, eventType } = useParams({ from: "/inside/topics/$owner/$eventType" });
  const { rights } = usePerson();
  const mayChange = rights.write || rights.tenantsOnly;
  const [isPublishing, publish] = useState(false);
  const topic = useQuery({
    queryKey: ["topics", owner, eventType],
    queryFn: () => answer(getOperatedTopic(owner, eventType, operations)),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Frame
      title={eventType}
      lead={owner}
      parent={{ href: "/topics", title: words.title }}
      actions={mayChange && topic.data !== undefined && <Button onPress={() => publish(true)}>{words.publish}</Button>}
    >
      {isPublishing && <PublishEvent owner={owner} eventType={eventType} close={() => publish(false)} />}
      <Fetched query={topic}>
        {(one) => (
          <>
            <Card>
              <Facts
                facts={[
                  [words.stored, one.storedEvents === null ? "–" : format.number(one.storedEvents)],
                  [words.size, one.storedBytes === null ? "–" : format.bytes(one.storedBytes)],
                  [words.rate, words.rateText(format.number(one.eventsLastMinute), format.number(one.eventsLastHour))],
                  [words.oldest, one.oldestEventAt === null ? "–" : format.moment(one.oldestEventAt)],
                  [words.newest, one.newestEventAt === null ? "–" : format.ago(one.newestEventAt)],
                  [words.logs, format.number(one.shards)],
                  ...(one.description === "" ? [] : [[words.description, one.description] as const]),
                ]}
              />
            </Card>
            <Consumers topic={one} mayChange={mayChange} />
            {rights.read && <Subscriptions topic={`${owner}.${eventType}`} path={`/topics/${owner}/${eventType}`} />}
            <EventBrowser owner={owner} eventType={eventType} />
          </>
        )}
      </Fetched>
    </Frame>
  );
}

interface ConsumersProps {
  readonly topic: OperatedTopicReport;
  readonly mayChange: boolean;
}

function Consumers({ topic, mayChange }: ConsumersProps) {
  const { consumers, moreConsumers, topicOwnerClient: owner, eventType } = topic;
  const [moved, move] = useState<OperatedTopicReport["consumers"][number]>();
  const { topics: words } = useWords();
  const format = useFormats();
  return (
    <Card title={words.consumers}>
      {consumers.length === 0 && <p className="muted">{words.noConsumers}</p>}
      <ul className="rows">
        {consumers.map((one) => {
          const { id, client, name, ofPerson, onlyTenant, lag } = one;
          return (
            <li key={id}>
              <span>
                <strong>{client}</strong> {name !== null && <code className="muted">{name}</code>}{" "}
                {ofPerson && <span className="muted">{words.forPerson}</span>}{" "}
                {onlyTenant !== null && <span className="muted">{words.onlyTenant(onlyTenant)}</span>}
              </span>
              <span className="buttons">
                <Badge kind={lag === null ? "plain" : lag === 0 ? "good" : "warn"}>
                  {lag === null ? words.lagUnknown : lag === 0 ? words.upToDate : words.behind(format.number(lag))}
                </Badge>
                {mayChange && (
                  <Button onPress={() => move(one)} aria-label={words.moveOf(name ?? client)}>
                    {words.move}
                  </Button>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      {moved !== undefined && (
        <MoveCursor owner={owner} eventType={eventType} consumer={moved} close={() => move(undefined)} />
      )}
      {moreConsumers && <p className="muted">{words.moreConsumers}</p>}
    </Card>
  );
}

function Subscriptions({ topic, path }: { readonly topic: string; readonly path: string }) {
  const { topics: words, common } = useWords();
  const list = useList<OperatedSubscription>(["push-subscriptions", topic], (page, options) =>
    listOperatedSubscriptions({ topic, ...page }, options),
  );
  return (
    <Card title={words.subscriptions}>
      <DataTable
        label={words.subscriptions}
        list={list}
        columns={[
          {
            id: "name",
            title: common.name,
            cell: ({ id, name }) => <TextLink href={`${path}/push/${id}`}>{name}</TextLink>,
          },
          { id: "client", title: words.client, cell: ({ client }) => client, wideOnly: true },
          { id: "endpoint", title: words.endpoint, cell: ({ endpointOrigin }) => endpointOrigin, wideOnly: true },
          { id: "state", title: common.state, cell: (one) => <SubscriptionBadge subscription={one} /> },
        ]}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `${path}/push/${id}`}
        empty={<p className="muted">{words.noSubscriptions}</p>}
      />
    </Card>
  );
}
