import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { answer, operations } from "../../api/client.ts";
import { useWords } from "../../words/words.ts";
import { ActButton, DeleteButton } from "../forms/act-button.tsx";
import { say } from "../toasts/say.ts";
import { useRefresh, type RecordKind } from "./records.ts";

type Call = Parameters<typeof answer>[0];
/** An operation that needs the record's id alone. */
type OnId = (id: string, options: typeof operations) => Call;

interface EndTokensProps {
  readonly kind: "tenants" | "people" | "applications";
  readonly id: string;
  readonly revoke: OnId;
  readonly after?: () => Promise<void>;
}

/** Ends all tokens of a record at once. The words of its kind say what that means; so in the acts below. */
export function EndTokens({ kind, id, revoke, after }: EndTokensProps) {
  const words = useWords()[kind];
  return (
    <ActButton
      act={words.revoke}
      title={`${words.revoke}: ${id}`}
      isDangerous
      onConfirm={async () => {
        await answer(revoke(id, operations));
        say.done(words.revoked);
        await after?.();
      }}
    >
      {words.revokeText}
    </ActButton>
  );
}

interface DisableRecordProps {
  readonly kind: "tenants" | "people" | "applications";
  readonly name: string;
  readonly disabled: boolean;
  readonly write: (disabled: boolean) => Promise<unknown>;
}

/** Disables a record, or enables it again. */
export function DisableRecord({ kind, name, disabled, write }: DisableRecordProps) {
  const { common, [kind]: words } = useWords();
  const refresh = useRefresh(kind);
  return (
    <ActButton
      act={disabled ? words.enable : words.disable}
      title={name}
      isDangerous={!disabled}
      onConfirm={async () => {
        await write(!disabled);
        say.done(common.saved(name));
        await refresh();
      }}
    >
      {disabled ? common.enableText : words.disableText}
    </ActButton>
  );
}

interface DeleteRecordProps {
  readonly kind: RecordKind;
  readonly id: string;
  /** What the question calls it; its id without. */
  readonly name?: string;
  readonly remove: OnId;
}

/** Deletes the record and leads to the list. */
export function DeleteRecord({ kind, id, name = id, remove }: DeleteRecordProps) {
  const words = useWords()[kind];
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refresh = useRefresh(kind);
  async function leave(): Promise<void> {
    queries.removeQueries({ queryKey: [kind, id] });
    await navigate({ href: `/${kind}` });
    await refresh();
  }
  return (
    <DeleteButton name={name} remove={() => remove(id, operations)} after={leave}>
      {words.deleteText}
    </DeleteButton>
  );
}
