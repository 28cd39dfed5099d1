import { RotateCcw, X } from "lucide-react";
import { ProgressBar } from "react-aria-components";
import { Button, TextLink, SmallButton } from "../../../components/button.tsx";
import { Card } from "../../../components/page.tsx";
import { Badge } from "../../../components/states.tsx";
import { useFormats } from "../../../words/formats.ts";
import { cancel, clearEnded, isUnderWay, retry, useUploads, type Upload } from "./uploads.ts";
import { useMediaWords } from "../words.ts";

/** Progress of all uploads of this window, and of each. Those that need a person come first. */
export function UploadTray() {
  const words = useMediaWords();
  const format = useFormats();
  const uploads = useUploads();
  if (uploads.length === 0) return null;
  const done = uploads.filter(({ state }) => state === "done");
  const counted = uploads.filter(({ state }) => state !== "cancelled");
  const under = uploads.filter(isUnderWay);
  const failed = uploads.filter(({ state }) => state === "failed" || state === "cancelled");
  const size = counted.reduce((sum, one) => sum + one.size, 0);
  const sent = counted.reduce((sum, one) => sum + Math.min(one.sent, one.size), 0);
  return (
    <Card
      title={words.uploads}
      className="uploads"
      actions={
        <div className="buttons">
          {under.length > 0 && (
            <SmallButton onPress={() => cancel(under.map(({ id }) => id))}>{words.cancelAll}</SmallButton>
          )}
          {failed.length > 0 && (
            <SmallButton onPress={() => retry(failed.map(({ id }) => id))}>{words.retryAll}</SmallButton>
          )}
          {under.length === 0 && <SmallButton onPress={clearEnded}>{words.clearEnded}</SmallButton>}
        </div>
      }
    >
      <Progress
        label={words.uploadsOf(format.number(done.length), format.number(counted.length))}
        share={size === 0 ? (under.length === 0 ? 1 : 0) : sent / size}
      />
      <ul className="upload-list">
        {uploads
          .toSorted((a, b) => RANK[a.state] - RANK[b.state])
          .map((one) => (
            <UploadRow key={one.id} upload={one} />
          ))}
      </ul>
    </Card>
  );
}

const RANK = { failed: 0, sending: 1, committing: 1, waiting: 2, cancelled: 3, done: 4 } as const;
const KIND = {
  waiting: "plain",
  sending: "plain",
  committing: "plain",
  done: "good",
  failed: "bad",
  cancelled: "warn",
} as const;

function UploadRow({ upload: { id, name, size, sent, state, fileId, reason } }: { readonly upload: Upload }) {
  const words = useMediaWords();
  const format = useFormats();
  return (
    <li>
      <span className="upload-name">
        {fileId === undefined ? name : <TextLink href={`/media/files/${fileId}`}>{name}</TextLink>}
        {state === "failed" && <span className="upload-reason">{reason || words.noAnswer}</span>}
      </span>
      {state === "sending" ? (
        <Progress label={name} share={size === 0 ? 0 : sent / size} isQuiet />
      ) : (
        <Badge kind={KIND[state]}>{words.uploadStates[state]}</Badge>
      )}
      <span className="muted upload-size">{format.bytes(size)}</span>
      {(state === "waiting" || state === "sending") && (
        <Button className="icon small" aria-label={words.cancelOne(name)} onPress={() => cancel([id])}>
          <X aria-hidden />
        </Button>
      )}
      {(state === "failed" || state === "cancelled") && (
        <Button className="icon small" aria-label={words.retryOne(name)} onPress={() => retry([id])}>
          <RotateCcw aria-hidden />
        </Button>
      )}
    </li>
  );
}

export function Progress({
  label,
  share,
  isQuiet = false,
}: {
  readonly label: string;
  readonly share: number;
  /** Only screen readers get the label. */
  readonly isQuiet?: boolean;
}) {
  return (
    <ProgressBar aria-label={label} value={Math.round(share * 100)} className="progress">
      {({ percentage = 0, valueText }) => (
        <>
          {!isQuiet && (
            <span className="progress-words">
              <span>{label}</span>
              <span className="muted">{valueText}</span>
            </span>
          )}
          <span className="progress-track">
            <span className="progress-fill" style={{ width: `${percentage}%` }} />
          </span>
        </>
      )}
    </ProgressBar>
  );
}
