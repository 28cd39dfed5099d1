import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { publishOperatedEvent } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { Panel } from "../../components/panel.tsx";
import { FormFault } from "../../components/forms/form-fault.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { useDraft } from "../../components/forms/use-draft.ts";
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
  const [draft, field] = useDraft({ payload: "", metadata: "", tenant: "" });
  const [key, setKey] = useState(() => crypto.randomUUID());
  /** Gives a field whose change makes another event, which gets another idempotency key. */
  const renewing = (name: keyof typeof draft) => {
    const { onChange, ...kept } = field(name);
    const renew = (to: string): void => {
      onChange(to);
      setKey(crypto.randomUUID());
    };
    return { ...kept, onChange: renew };
  };
  async function publish(): Promise<void> {
    const { payload, metadata } = draft;
    const tenant = draft.tenant.trim();
    const body = {
      payload,
      ...(metadata.trim() !== "" && { metadata: readMetadata(metadata, words.metadataMalformed) }),
      ...(tenant !== "" && { tenant }),
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
        <TextField {...renewing("payload")} label={words.payload} help={words.payloadHelp} isMultiline isRequired />
        <TextField
          {...renewing("metadata")}
          label={words.metadata}
          help={words.metadataHelp}
          placeholder='{"kind": "repair"}'
          isMultiline
        />
        <TextField {...renewing("tenant")} label={words.tenant} help={words.tenantHelp} />
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
