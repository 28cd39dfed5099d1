import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import {
  getDeliveryStatus,
  getOperatedSubscription,
  listOperatedDeliveries,
  redeliverDeadLetters,
  removeOperatedSubscription,
  testOperatedSubscription,
  type Delivery,
} from "../../../../api/plinth.ts";
import { answer, gone, operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { Button } from "../../components/button.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { SelectField } from "../../components/forms/form.tsx";
import { Card, Facts, Page as Frame } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { Badge, Empty } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { DeliveryPanel, whyOf } from "./delivery-panel.tsx";
import { SubscriptionBadge } from "./subscription-badge.tsx";

const REFRESH_MS = 5_000;
/** Rows of a list that follows what happens: those of its first page. */
const FOLLOWED = 100;
const STATES = ["pending", "delivered", "dead"] as const;
const KIND = { pending: "warn", delivered: "good", dead: "bad" } as const;

/** One push subscription: its deliveries, the result of each event, and redelivery. */
export function Page() {
  const { push: words, topics, common } = useWords();
  const format = useFormats();
  const { owner, eventType, id } = useParams({ from: "/inside/topics/$owner/$eventType/push/$id" });
  const path = `/topics/${owner}/${eventType}`;
  const { rights } = usePerson();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const key = ["push-subscriptions", id];
  const subscription = useQuery({ queryKey: key, queryFn: () => answer(getOperatedSubscription(id, operations)) });
  const status = useQuery({
    queryKey: [...key, "status"],
    queryFn: () => answer(getDeliveryStatus(id, operations)),
    refetchInterval: REFRESH_MS,
  });
  const refresh = () => queries.invalidateQueries({ queryKey: key });
  const counted = (count: number | null | undefined) =>
    count === null || count === undefined ? "–" : format.number(count);

  async function test(): Promise<void> {
    try {
      const { delivered, durationMs, status: code, error } = await answer(testOperatedSubscription(id, operations));
      if (delivered) say.done(words.testDone(format.ms(durationMs)));
      else say.failed(words.testFailed(code === null ? whyOf(error, words.errors) : words.status(String(code))));
    } catch (thrown) {
      say.failed((thrown as Error).message);
    }
  }

  return (
    <Frame
      title={subscription.data?.name ?? id}
      parent={{ href: path, title: eventType }}
      actions={
        rights.write && subscription.data !== undefined && <Button onPress={() => void test()}>{words.sendTest}</Button>
      }
    >
      <Fetched query={subscription}>
        {(one) => (
          <>
            <Card>
              <Facts
                facts={[
                  [common.state, <SubscriptionBadge key="state" subscription={one} />],
                  [topics.client, one.client],
                  [topics.endpoint, one.endpointOrigin],
                  [words.waiting, counted(status.data?.lag)],
                  [words.dead, counted(status.data?.deadLetters)],
                  [words.lost, counted(status.data?.eventsLost)],
                  [
                    words.paused,
                    typeof status.data?.pausedUntil === "number"
                      ? format.moment(status.data.pausedUntil)
                      : words.notPaused,
                  ],
                  [words.made, format.moment(one.createdAt)],
                ]}
              />
            </Card>
            <Deliveries
              id={id}
              origin={one.endpointOrigin}
              counts={status.data && `${status.data.lag} ${status.data.deadLetters}`}
              mayChange={rights.write}
              refresh={refresh}
            />
            {rights.write && (
              <div className="buttons">
                <ActButton
                  act={words.redeliverAll}
                  title={words.redeliverAllTitle}
                  onConfirm={async () => {
                    say.done(words.redelivered(format.number(await redeliverAll(id))));
                    await refresh();
                  }}
                >
                  {words.redeliverAllText}
                </ActButton>
                <ActButton
                  act={words.remove}
                  title={common.deleteTitle(one.name)}
                  isDangerous
                  onConfirm={async () => {
                    await gone(removeOperatedSubscription(id, operations));
                    say.done(common.deleted(one.name));
                    await navigate({ to: path });
                    queries.removeQueries({ queryKey: key });
                    await queries.invalidateQueries({ queryKey: ["push-subscriptions"] });
                  }}
                >
                  {words.removeText}
                </ActButton>
              </div>
            )}
          </>
        )}
      </Fetched>
    </Frame>
  );
}

interface DeliveriesProps {
  readonly id: string;
  readonly origin: string;
  /** What waits and what is dead, once it is known: the list is read again when that changes. */
  readonly counts: string | undefined;
  readonly mayChange: boolean;
  readonly refresh: () => Promise<void>;
}

function Deliveries({ id, origin, counts, mayChange, refresh }: DeliveriesProps) {
  const { push: words, common } = useWords();
  const format = useFormats();
  const search = useSearch({ from: "/inside/topics/$owner/$eventType/push/$id" });
  const navigate = useNavigate({ from: "/topics/$owner/$eventType/push/$id" });
  const state = STATES.find((one) => one === search.state);
  const [shown, show] = useState<Delivery>();
  const list = useList<Delivery>(["push-subscriptions", id, "deliveries", state], (page, options) =>
    listOperatedDeliveries(id, { ...page, ...(state !== undefined && { state }) }, options),
  );
  const seen = useRef(counts);
  useEffect(() => {
    // A long list, which was scrolled, would take a request for each of its pages.
    const isShort = list.rows.length <= FOLLOWED;
    if (seen.current !== undefined && seen.current !== counts && isShort) list.retry();
    seen.current = counts;
  }, [counts, list]);
  const open = list.rows.find(({ eventId }) => eventId === shown?.eventId) ?? shown;
  const dueText = (atMs: number) => (atMs <= Date.now() ? words.soon : format.ago(atMs));
  const standing = (one: Delivery) => <Badge kind={KIND[one.state]}>{words.delivery[one.state]}</Badge>;
  return (
    <Card
      title={words.deliveries}
      actions={
        <SelectField
          name="state"
          label={words.show}
          value={state ?? "every"}
          onChange={(to) => void navigate({ search: to === "every" ? {} : { state: to }, replace: true })}
          options={[
            { id: "every", name: words.every },
            ...STATES.map((one) => ({ id: one, name: words.delivery[one] })),
          ]}
        />
      }
    >
      <DataTable
        label={words.deliveries}
        list={list}
        columns={[
          { id: "event", title: common.id, share: 1.5, cell: ({ eventId }) => <code>{eventId}</code> },
          { id: "state", title: common.state, cell: standing },
          {
            id: "attempts",
            title: words.timeline,
            cell: ({ attemptCount }) => words.attempts(format.number(attemptCount)),
            wideOnly: true,
          },
          {
            id: "next",
            title: words.nextAttempt,
            cell: ({ nextAttemptAt }) => (nextAttemptAt === null ? "–" : dueText(nextAttemptAt)),
            wideOnly: true,
          },
        ]}
        idOf={({ eventId }) => eventId}
        onOpen={show}
        empty={<Empty title={words.noDeliveries}>{words.noDeliveriesText}</Empty>}
      />
      {open !== undefined && (
        <DeliveryPanel
          id={id}
          delivery={open}
          origin={origin}
          mayChange={mayChange}
          close={() => show(undefined)}
          refresh={refresh}
        >
          {standing(open)} {open.nextAttemptAt !== null && words.next(dueText(open.nextAttemptAt))}
        </DeliveryPanel>
      )}
    </Card>
  );
}

/** Redelivers all dead letters, some hundreds with each call. Returns their number. */
async function redeliverAll(id: string): Promise<number> {
  for (let sum = 0; ;) {
    const { redelivered, more } = await answer(redeliverDeadLetters(id, operations));
    sum += redelivered;
    if (!more || redelivered === 0) return sum;
  }
}
