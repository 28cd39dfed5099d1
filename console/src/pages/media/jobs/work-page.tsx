import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { countWaitingVariants, listComparisons, startComparison, type Comparison } from "../../../../../api/plinth.ts";
import { answer, operations } from "../../../api/client.ts";
import { useList } from "../../../api/lists.ts";
import { FaultNotice } from "../../../app/faults.tsx";
import { Button } from "../../../components/button.tsx";
import { DataTable } from "../../../components/lists/data-table.tsx";
import { Fetched } from "../../../components/fetched.tsx";
import { Card, Page as Frame } from "../../../components/page.tsx";
import { Badge } from "../../../components/states.tsx";
import { usePerson } from "../../../session/session.ts";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import { goOn, stop, useBulks } from "./bulk.ts";
import { mediaHref, ownerOf, type Owner } from "../owner.ts";
import { OwnerChooser } from "../files/owner-chooser.tsx";
import { UploadTray } from "../uploads/upload-tray.tsx";
import { useMediaWords } from "../words.ts";

const AGAIN_MS = 2_000;

/** Long work: requests of this window, work that the platform still has to do, and comparisons. */
export function Page() {
  const words = useMediaWords();
  const { rights } = usePerson();
  const owner = ownerOf(useSearch({ from: "/inside/media/work" }));
  return (
    <Frame
      title={words.work}
      lead={words.workLead}
      parent={{ href: owner === undefined ? "/media" : mediaHref(owner), title: words.title }}
    >
      <UploadTray />
      <Card title={words.waiting}>
        <OwnerChooser />
        {owner === undefined ? <p className="muted">{words.chooseText}</p> : <Waiting owner={owner} />}
        <Bulks />
      </Card>
      {rights.read && <Comparisons />}
    </Frame>
  );
}

function Waiting({ owner }: { readonly owner: Owner }) {
  const words = useMediaWords();
  const format = useFormats();
  const query = useQuery({
    queryKey: ["waiting", owner],
    queryFn: () => answer(countWaitingVariants(owner.tenant, owner.client, owner.visibility, operations)),
    refetchInterval: AGAIN_MS,
  });
  return (
    <Fetched query={query}>
      {({ waiting, more }) => (
        <p role="status">
          {waiting === 0 && !more
            ? words.waitingNone
            : (more ? words.waitingMore : words.waitingCount)(format.number(waiting))}
        </p>
      )}
    </Fetched>
  );
}

const KIND = { asking: "plain", asked: "good", stopped: "warn", failed: "bad" } as const;

function Bulks() {
  const words = useMediaWords();
  const format = useFormats();
  const bulks = useBulks();
  return (
    <ul className="rows">
      {bulks.map(({ id, owner, q, type, size, state, files, started, error }) => (
        <li key={id}>
          <div>
            <strong>
              {type} {size}
            </strong>{" "}
            <Badge kind={KIND[state]}>{words.bulkState[state]}</Badge>
            <p className="muted">
              {owner.client} {q !== "" && <code>{q}</code>}
            </p>
            <p className="muted">{words.bulkCounts(format.number(files), format.number(started))}</p>
            {error !== undefined && <FaultNotice error={error} />}
          </div>
          {state === "asking" && <Button onPress={() => stop(id)}>{words.stop}</Button>}
          {(state === "stopped" || state === "failed") && <Button onPress={() => goOn(id)}>{words.goOn}</Button>}
        </li>
      ))}
    </ul>
  );
}

export const COMPARISON_KIND = { running: "plain", done: "good", repairing: "plain", repaired: "good" } as const;

export const foundBy = ({ found }: Pick<Comparison, "found">): number =>
  Object.values(found).reduce((sum, count) => sum + count, 0);

function Comparisons() {
  const words = useMediaWords();
  const { common } = useWords();
  const { rights } = usePerson();
  const format = useFormats();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const list = useList<Comparison>(["comparisons"], listComparisons);
  const start = useMutation({
    mutationFn: () => answer(startComparison(operations)),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ["comparisons"] });
      void navigate({ href: `/media/comparisons/${id}` });
    },
  });
  return (
    <Card
      title={words.comparisons}
      actions={
        rights.write && (
          <Button className="small" isPending={start.isPending} onPress={() => start.mutate()}>
            {words.compare}
          </Button>
        )
      }
    >
      <p className="muted">{words.comparisonsLead}</p>
      {start.isError && <FaultNotice error={start.error} />}
      <DataTable
        label={words.comparisons}
        list={list}
        columns={[
          { id: "at", title: words.startedAt, share: 1.5, cell: ({ startedAt }) => format.moment(startedAt) },
          {
            id: "state",
            title: common.state,
            cell: ({ state }) => <Badge kind={COMPARISON_KIND[state]}>{words.comparisonStates[state]}</Badge>,
          },
          {
            id: "found",
            title: words.findings,
            align: "end",
            cell: (run) => format.number(foundBy(run)),
          },
        ]}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `/media/comparisons/${id}`}
        empty={<p className="muted">{words.noComparisons}</p>}
      />
    </Card>
  );
}
