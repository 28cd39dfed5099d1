import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { getComparison, repairComparison, type ComparisonReport } from "../../../../../api/plinth.ts";
import { answer, operations, whole } from "../../../api/client.ts";
import { useList } from "../../../api/lists.ts";
import { ActButton } from "../../../components/forms/act-button.tsx";
import { TextLink } from "../../../components/button.tsx";
import { DataTable } from "../../../components/lists/data-table.tsx";
import { Fetched } from "../../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../../components/page.tsx";
import { Badge } from "../../../components/states.tsx";
import { usePerson } from "../../../session/session.ts";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import { COMPARISON_KIND, foundBy } from "./work-page.tsx";
import { useMediaWords } from "../words.ts";

const AGAIN_MS = 1_000;
type Finding = ComparisonReport["findings"][number];

/** A comparison of the bucket with the database: its progress, its findings, and their repair. */
export function Page() {
  const words = useMediaWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const { id } = useParams({ from: "/inside/media/comparisons/$id" });
  const query = useQuery({
    queryKey: ["comparison", id],
    queryFn: () => answer(getComparison(id, { pageSize: 1 }, operations)),
    refetchInterval: ({ state }) => ["running", "repairing"].includes(state.data?.state ?? "") && AGAIN_MS,
  });
  const run = query.data;
  return (
    <Frame
      title={words.comparison}
      parent={{ href: "/media/work", title: words.work }}
      actions={
        rights.write &&
        run?.state === "done" &&
        foundBy(run) > 0 && (
          <ActButton
            act={words.repair}
            title={words.repairTitle}
            isDangerous
            onConfirm={async () => {
              await answer(repairComparison(id, operations));
              await queries.invalidateQueries({ queryKey: ["comparison", id] });
            }}
          >
            {words.repairText}
          </ActButton>
        )
      }
    >
      <Fetched query={query}>{(found) => <Report run={found} />}</Fetched>
    </Frame>
  );
}

function Report({ run }: { readonly run: ComparisonReport }) {
  const words = useMediaWords();
  const { common } = useWords();
  const format = useFormats();
  const { objects, files, variants } = run.checked;
  return (
    <>
      <Card>
        <Facts
          facts={[
            [
              common.state,
              <Badge key="state" kind={COMPARISON_KIND[run.state]}>
                {words.comparisonStates[run.state]}
              </Badge>,
            ],
            [words.startedAt, format.moment(run.startedAt)],
            ...Object.entries(run.found)
              .filter(([, count]) => count > 0)
              .map(([kind, count]) => [words.findingKinds[kind as Finding["kind"]], format.number(count)] as const),
          ]}
        />
        <p role="status" className="muted">
          {words.checked(format.number(objects), format.number(files), format.number(variants))}
        </p>
      </Card>
      {run.state !== "running" && <Findings key={run.state} id={run.id} count={foundBy(run)} />}
    </>
  );
}

function Findings({ id, count }: { readonly id: string; readonly count: number }) {
  const words = useMediaWords();
  const format = useFormats();
  const list = useList<Finding>(["comparison", id, "findings"], async (page, options) => {
    const { data, ...rest } = await whole(getComparison(id, page, options));
    return { ...rest, data: (data as ComparisonReport).findings };
  });
  return (
    <Card title={count === 0 ? words.findings : words.findingCount(format.number(count))}>
      <DataTable
        label={words.findings}
        list={list}
        columns={[
          { id: "kind", title: words.what, cell: ({ kind }) => words.findingKinds[kind] },
          { id: "key", title: words.objectKey, share: 2, cell: ({ key }) => <code>{key}</code> },
          {
            id: "file",
            title: words.file,
            wideOnly: true,
            cell: ({ fileId }) =>
              fileId === null ? "–" : <TextLink href={`/media/files/${fileId}`}>{fileId}</TextLink>,
          },
          {
            id: "outcome",
            title: words.outcome,
            cell: ({ outcome }) => (outcome === null ? "–" : words.outcomes[outcome]),
          },
        ]}
        idOf={({ kind, key }) => `${kind} ${key}`}
        empty={<p className="muted">{words.noFindings}</p>}
      />
    </Card>
  );
}
