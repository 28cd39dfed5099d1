import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { Button as AriaButton, Disclosure, DisclosurePanel, Heading } from "react-aria-components";
import {
  getOperatedDelivery,
  redeliverOperatedEvent,
  type Delivery,
  type DeliveryReport,
} from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { CodeBlock } from "../../components/copy.tsx";
import { Panel } from "../../components/panel.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { say } from "../../components/toasts/say.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { readable } from "./readable.ts";

interface DeliveryPanelProps {
  /** The subscription's id. */
  readonly id: string;
  readonly delivery: Delivery;
  /** Scheme, host and port of the endpoint. The rest of its address may be a secret. */
  readonly origin: string;
  /** The state of the delivery, in words. */
  readonly children: ReactNode;
  readonly mayChange: boolean;
  readonly close: () => void;
  readonly refresh: () => Promise<void>;
}

/** One delivery: its event, and each attempt with request and answer. */
export function DeliveryPanel({ id, delivery, origin, children, mayChange, close, refresh }: DeliveryPanelProps) {
  const { push: words } = useWords();
  const { eventId } = delivery;
  const report = useQuery({
    queryKey: ["push-subscriptions", id, "delivery", eventId, delivery.attemptCount],
    // Each read leaves a row in the audit log, so it is not repeated.
    staleTime: Infinity,
    queryFn: () => answer(getOperatedDelivery(id, eventId, operations)),
  });
  async function again(): Promise<void> {
    try {
      await answer(redeliverOperatedEvent(id, eventId, operations));
      say.done(words.again);
      close();
      await refresh();
    } catch (thrown) {
      say.failed((thrown as Error).message);
    }
  }
  return (
    <Panel title={eventId} isOpen close={close}>
      <p>{children}</p>
      <Fetched query={report}>
        {({ attempts, body }) => (
          <>
            <h3>{words.timeline}</h3>
            {attempts.length === 0 && <p className="muted">{words.notTried}</p>}
            <ol className="timeline">
              {attempts.map((attempt) => (
                <AttemptLine key={attempt.at} attempt={attempt} origin={origin} />
              ))}
            </ol>
            {body === null ? (
              <p className="muted">{words.noBody}</p>
            ) : (
              <CodeBlock label={words.body} code={readable(body)} />
            )}
          </>
        )}
      </Fetched>
      {mayChange && (
        <div className="buttons end">
          <Button className="primary" onPress={() => void again()}>
            {words.redeliver}
          </Button>
        </div>
      )}
    </Panel>
  );
}

interface AttemptLineProps {
  readonly attempt: DeliveryReport["attempts"][number];
  readonly origin: string;
}

function AttemptLine({ attempt, origin }: AttemptLineProps) {
  const { push: words } = useWords();
  const format = useFormats();
  const { at, status, error, durationMs, headers, answer: said } = attempt;
  const result = error === null ? words.accepted : whyOf(error, words.errors);
  const request = [`POST ${origin}/…`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  return (
    <li className={error === null ? "good" : "bad"}>
      <time>{format.moment(at)}</time>
      <span>
        {status !== null && words.status(String(status))} {result}
      </span>
      <span className="muted">{format.ms(durationMs)}</span>
      <Disclosure className="attempt">
        <Heading level={4}>
          <AriaButton slot="trigger" className="unfold">
            <ChevronRight aria-hidden /> {words.exchange}
          </AriaButton>
        </Heading>
        <DisclosurePanel>
          <CodeBlock label={words.request} code={request.join("\n")} />
          {said === null ? (
            <p className="muted">{status === null ? words.noAnswer : words.nothingKept}</p>
          ) : (
            <CodeBlock label={words.answer} code={readable(said)} />
          )}
        </DisclosurePanel>
      </Disclosure>
    </li>
  );
}

/** Words for the reason of a failed attempt. */
export const whyOf = (
  error: string | null,
  words: Readonly<Record<string, string>> & { readonly other: string },
): string => words[error ?? "other"] ?? words.other;
