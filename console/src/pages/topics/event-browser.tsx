import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { Form } from "react-aria-components";
import { lookAtOperatedTopic } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { Button } from "../../components/button.tsx";
import { CodeBlock } from "../../components/copy.tsx";
import { Panel } from "../../components/panel.tsx";
import { TextField } from "../../components/forms/form.tsx";
import { Card, Facts } from "../../components/page.tsx";
import { Loading } from "../../components/states.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { readable } from "./readable.ts";

const EVENTS_A_PAGE = 25;

interface StoredEvent {
  readonly id: string;
  readonly createdAt: number;
  readonly tenant: string;
  readonly sourceClient: string;
  readonly payload: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * The events of a topic, the oldest first, with a search. It starts only on request, since each read leaves a row in
 * the audit log. The search is in the address.
 */
export function EventBrowser({ owner, eventType }: { readonly owner: string; readonly eventType: string }) {
  const { topics: words } = useWords();
  const format = useFormats();
  const { contains } = useSearch({ from: "/inside/topics/$owner/$eventType" });
  const navigate = useNavigate({ from: "/topics/$owner/$eventType" });
  const [typed, setTyped] = useState(contains ?? "");
  const [hasAsked, ask] = useState(contains !== undefined);
  const [shown, show] = useState<StoredEvent>();
  const query = useInfiniteQuery({
    queryKey: ["events", owner, eventType, contains],
    enabled: hasAsked,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: after }) => {
      const found = contains === undefined ? { limit: EVENTS_A_PAGE } : { contains };
      return answer(
        lookAtOperatedTopic(owner, eventType, { ...found, ...(after !== undefined && { after }) }, operations),
      );
    },
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  const pages = query.data?.pages ?? [];
  const events = pages.flatMap((page) => page.events as readonly StoredEvent[]);
  const read = pages.reduce((sum, page) => sum + page.read, 0);
  return (
    <Card title={words.events}>
      <p className="muted">{words.eventsLead}</p>
      <Form
        className="event-search"
        onSubmit={(submitted) => {
          submitted.preventDefault();
          ask(true);
          const text = typed.trim();
          if (text === (contains ?? "")) void query.refetch();
          else void navigate({ search: text === "" ? {} : { contains: text }, replace: true });
        }}
      >
        {/* Not "contains": a field of that name hides the method of the form's element. */}
        <TextField name="text" label={words.search} help={words.searchHelp} value={typed} onChange={setTyped} />
        <Button type="submit" className="primary" isPending={query.isFetching && !query.isFetchingNextPage}>
          {words.look}
        </Button>
      </Form>
      {hasAsked && query.isPending && <Loading />}
      {query.isError && <FaultNotice error={query.error} retry={() => void query.refetch()} />}
      <ul className="event-list">
        {events.map((event) => (
          <li key={event.id}>
            <Button className="event" onPress={() => show(event)}>
              <time className="muted">{format.moment(event.createdAt)}</time>
              <code>{event.payload}</code>
            </Button>
          </li>
        ))}
      </ul>
      {query.isSuccess && (
        <div className="buttons">
          {events.length === 0 && (
            <p className="muted">{contains === undefined ? words.noEvents : words.noMatch(format.number(read))}</p>
          )}
          {query.hasNextPage ? (
            <Button isPending={query.isFetchingNextPage} onPress={() => void query.fetchNextPage()}>
              {contains === undefined ? words.more : words.searchOn}
            </Button>
          ) : (
            events.length > 0 && <p className="muted">{words.end}</p>
          )}
        </div>
      )}
      {shown !== undefined && (
        <Panel title={shown.id} isOpen close={() => show(undefined)}>
          <Facts
            facts={[
              [words.at, format.moment(shown.createdAt)],
              [words.tenant, shown.tenant === "" ? "–" : shown.tenant],
              [words.client, shown.sourceClient],
            ]}
          />

          <CodeBlock label={words.payload} code={readable(shown.payload)} />
          {shown.metadata !== undefined && (
            <>
              <CodeBlock label={words.metadata} code={JSON.stringify(shown.metadata, null, 2)} />
            </>
          )}
        </Panel>
      )}
    </Card>
  );
}
