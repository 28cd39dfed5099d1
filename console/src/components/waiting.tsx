import { Hourglass } from "lucide-react";
import { endPauses, usePausedUntil } from "../api/waits.ts";
import { useFormats } from "../words/formats.ts";
import { useWords } from "../words/words.ts";
import { PlainButton } from "./plain.tsx";

/** Says that requests wait since the platform asked for it, and until when. Pages and dialogs show it at their top. */
export function Waiting() {
  const { common } = useWords();
  const format = useFormats();
  const untilMs = usePausedUntil();
  return (
    <div role="status" className="waiting">
      {untilMs !== undefined && (
        <div className="offline">
          <Hourglass aria-hidden />
          <p>{common.waiting(format.time(untilMs))}</p>
          <PlainButton className="small" onClick={endPauses}>
            {common.retry}
          </PlainButton>
        </div>
      )}
    </div>
  );
}
