import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { publishOperatedEvent } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { Panel } from "../../components/dialogs.tsx";
import { FormFault } from "../../components/forms/form-fault.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

interface PublishEventProps {
  readonly owner: string;
  readonly eventType: string;
  readonly close: () => void;
}

/** Publishes an event by hand, on behalf of the topic's owner. A repeat after a lost answer stores nothing twice. */
export function PublishEvent({ owner, eventType, close }: PublishEventProps) {
  const { topics: words } = useWords();
  const queries = useQueryClient();
  const [payload, setPayload] = useState("");
  const [metadata, setMetadata] = useState("");
  const [tenant, setTenant] = useState("");
  const [key, setKey] = useState(() => crypto.randomUUID());
  /** Wraps a setter: a changed event is another event, so it gets another idempotency key. */
  const renewing =
    (set: (to: string) => void) =>
    (to: string): void => {
      set(to);
      setKey(crypto.randomUUID());
    };
  async function publish(): Promise<void> {
    const body = {
      payload,
      ...(metadata.trim() !== "" && { metadata: readMetadata(metadata, words.metadataMalformed) }),
      ...(tenant.trim() !== "" && { tenant: tenant.trim() }),
    };
    const { id } = await answer(publishOperatedEvent(owner, eventType, body, { idempotencyKey: key }, operations));
    say.done(words.published(id));
    close();
    await queries.invalidateQueries({ queryKey: ["topics", owner, eventType] });
    await queries.resetQueries({ queryKey: ["events", owner, eventType] });
  }
  return (
    <Panel title={words.publish} isOpen close={close}>
      <p className="muted">{words.publishText(owner)}</p>
      <ServiceForm act={words.publish} cancel={close} onSubmit={publish}>
        <TextField
          name="payload"
          label={words.payload}
          help={words.payloadHelp}
          value={payload}
          onChange={renewing(setPayload)}
          isMultiline
          isRequired
        />
        <TextField
          name="metadata"
          label={words.metadata}
          help={words.metadataHelp}
          placeholder='{"kind": "repair"}'
          value={metadata}
          onChange={renewing(setMetadata)}
          isMultiline
        />
        <TextField
          name="tenant"
          label={words.tenant}
          help={words.tenantHelp}
          value={tenant}
          onChange={renewing(setTenant)}
        />
      </ServiceForm>
    </Panel>
  );
}

/** Parses the metadata as an object. The service reports values that are not strings. */
function readMetadata(text: string, malformed: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    throw new FormFault("metadata", malformed);
  }
}
