import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { moveCursor, previewMove, type OperatedTopicReport } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { Panel } from "../../components/panel.tsx";
import { FormFault } from "../../components/forms/form-fault.ts";
import { SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { say } from "../../components/toasts/say.ts";
import { Loading } from "../../components/states.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

interface MoveCursorProps {
  readonly owner: string;
  readonly eventType: string;
  readonly consumer: OperatedTopicReport["consumers"][number];
  readonly close: () => void;
}

const PLACES = ["oldest", "newest", "time"] as const;

/** Moves a consumer's cursor. It first shows which events would be read again, or never. */
export function MoveCursor({ owner, eventType, consumer, close }: MoveCursorProps) {
  const { topics: words } = useWords();
  const format = useFormats();
  const queries = useQueryClient();
  const [place, choose] = useState<(typeof PLACES)[number]>("oldest");
  const [time, setTime] = useState("");
  const to = place === "time" ? timeOf(time) : place;
  const preview = useQuery({
    queryKey: ["topics", owner, eventType, "move", consumer.id, to],
    enabled: to !== undefined,
    queryFn: () => answer(previewMove(owner, eventType, consumer.id, to ?? "oldest", operations)),
  });
  async function move(): Promise<void> {
    if (to === undefined) throw new FormFault("time", words.timeMissing);
    await answer(moveCursor(owner, eventType, consumer.id, { to }, operations));
    say.done(words.moved(consumer.client));
    close();
    await queries.invalidateQueries({ queryKey: ["topics", owner, eventType] });
  }
  return (
    <Panel title={words.moveOf(consumer.name ?? consumer.client)} isOpen close={close}>
      <ServiceForm act={words.move} cancel={close} onSubmit={move}>
        <SelectField
          name="to"
          label={words.moveTo}
          value={place}
          onChange={(chosen) => choose(PLACES.find((one) => one === chosen) ?? "oldest")}
          options={PLACES.map((id) => ({ id, name: words.places[id] }))}
        />
        {place === "time" && (
          <TextField name="time" label={words.time} type="datetime-local" value={time} onChange={setTime} isRequired />
        )}
        {to !== undefined && preview.isPending && <Loading rows={2} />}
        {preview.isError && <FaultNotice error={preview.error} retry={() => void preview.refetch()} />}
        {preview.data !== undefined && (
          <div className="preview" aria-live="polite">
            <p>
              {preview.data.again === null || preview.data.skipped === null
                ? words.notTold
                : preview.data.skipped > 0
                  ? words.skips(format.number(preview.data.skipped))
                  : words.readsAgain(format.number(preview.data.again))}
            </p>
            <p className="muted">{preview.data.first.length === 0 ? words.readsNothing : words.readsFirst}</p>
            <ol className="event-list">
              {preview.data.first.map(({ id, createdAt, payload }) => (
                <li key={id} className="event">
                  <time className="muted">{format.moment(createdAt)}</time> <code>{payload}</code>
                </li>
              ))}
            </ol>
          </div>
        )}
      </ServiceForm>
    </Panel>
  );
}

/** A local time in milliseconds; undefined if none is given. */
function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) || ms < 0 ? undefined : ms;
}
