import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteOperatedFile, deleteOperatedFiles } from "../../../../../api/plinth.ts";
import { answer, gone, operations, whole } from "../../../api/client.ts";
import { FaultNotice } from "../../../app/faults.tsx";
import { Button } from "../../../components/button.tsx";
import { Confirm } from "../../../components/dialogs.tsx";
import { Panel } from "../../../components/panel.tsx";
import { say } from "../../../components/toasts/say.ts";
import { Loading } from "../../../components/states.tsx";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import type { MatchingProps } from "../owner.ts";
import { useMediaWords } from "../words.ts";

/** Deletions at the same time. */
const AT_ONCE = 4;

/** Deletes the selected files, each with a report of its own. */
export function DeleteSelected({ ids, after }: { readonly ids: readonly string[]; readonly after: () => void }) {
  const words = useMediaWords();
  const format = useFormats();
  const [isOpen, open] = useState(false);
  const queries = useQueryClient();
  async function remove(): Promise<void> {
    const left = [...ids];
    const failures: unknown[] = [];
    const work = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop())
        await gone(deleteOperatedFile(id, operations)).catch((thrown: unknown) => failures.push(thrown));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    await queries.invalidateQueries({ queryKey: ["files"] });
    void queries.invalidateQueries({ queryKey: ["file-owners"] });
    const [first] = failures;
    if (failures.length === 0) say.done(words.deletedSome(format.number(ids.length)));
    else say.failed(words.deletedNot(format.number(failures.length), first instanceof Error ? first.message : ""));
    after();
  }
  return (
    <>
      <Button className="danger" onPress={() => open(true)}>
        {words.deleteSelected}
      </Button>
      {isOpen && (
        <Confirm
          title={words.deleteSelectedTitle(format.number(ids.length))}
          isOpen
          close={() => open(false)}
          act={words.deleteCount(format.number(ids.length))}
          isDangerous
          onConfirm={remove}
        >
          {words.deleteText}
        </Confirm>
      )}
    </>
  );
}

/** Deletes all files that match the search, with one report. Shows their number first. */
export function DeleteMatching({ owner, q, close }: MatchingProps) {
  const words = useMediaWords();
  const { common } = useWords();
  const format = useFormats();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const { tenant, client, visibility } = owner;
  const chosen = q === "" ? {} : { q };
  const count = useQuery({
    queryKey: ["files", "count", owner, q],
    staleTime: 0,
    gcTime: 0,
    queryFn: async () =>
      (await answer(deleteOperatedFiles(tenant, client, visibility, { ...chosen, dryRun: true }, operations))) as {
        files: number;
        bytes: number;
      },
  });
  async function remove(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      const { headers } = await whole(deleteOperatedFiles(tenant, client, visibility, chosen, operations));
      void queries.invalidateQueries({ queryKey: ["files"] });
      void queries.invalidateQueries({ queryKey: ["file-owners"] });
      close();
      void navigate({ href: reportHref(headers) });
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  const found = count.data;
  return (
    <Panel title={q === "" ? words.deleteAll : words.deleteMatching} isOpen isSending={isBusy} close={close}>
      {count.isPending && (
        <>
          <p className="muted">{words.counting}</p>
          <Loading rows={1} />
        </>
      )}
      {count.isError && <FaultNotice error={count.error} retry={() => void count.refetch()} />}
      {found !== undefined && (
        <>
          <p className="media-count" role="status">
            {found.files === 0
              ? words.noneMatch
              : q === ""
                ? words.allOf(format.number(found.files), format.bytes(found.bytes), client)
                : words.matching(format.number(found.files), format.bytes(found.bytes))}
          </p>
          {q !== "" && <code>{q}</code>}
          {found.files > 0 && <p>{words.deleteText}</p>}
        </>
      )}
      {error !== undefined && <FaultNotice error={error} />}
      <div className="buttons end">
        <Button onPress={close} isDisabled={isBusy}>
          {common.cancel}
        </Button>
        {found !== undefined && found.files > 0 && (
          <Button className="danger" isPending={isBusy} onPress={() => void remove()}>
            {words.deleteCount(format.number(found.files))}
          </Button>
        )}
      </div>
    </Panel>
  );
}

/** The page of the report whose id is at the end of an answer's `Location`. */
export const reportHref = (headers: Headers | undefined): string =>
  `/media/erasures/${(headers?.get("location") ?? "").split("/").at(-1) ?? ""}`;
