import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { listAudit, type AuditRow } from "../../../../api/plinth.ts";
import { useList } from "../../api/lists.ts";
import { CheckField, SelectField, TextField } from "../../components/forms/form.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Panel } from "../../components/panel.tsx";
import { Facts, Page as Frame } from "../../components/page.tsx";
import { Badge, Empty } from "../../components/states.tsx";
import { useIsNarrow } from "../../components/use-is-narrow.ts";
import { useSearchText } from "../../components/use-settled.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

const LIVE_MS = 5_000;

/** Every change and refusal, newest first. The filters are in the address. */
export function Page() {
  const { audit: words } = useWords();
  const format = useFormats();
  // A phone has room for two columns.
  const isNarrow = useIsNarrow();
  const filters = useSearch({ from: "/inside/audit" });
  const navigate = useNavigate({ from: "/audit" });
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  const [shown, show] = useState<AuditRow>();
  const set = (more: Record<string, string | undefined>) =>
    void navigate({ search: (old) => clean({ ...old, ...more }), replace: true });
  const list = useList<AuditRow>(["audit", filters], (page, options) =>
    listAudit({ ...filters, ...page } as object, options),
  );

  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => void queries.invalidateQueries({ queryKey: ["audit"] }), LIVE_MS);
    return () => clearInterval(timer);
  }, [isLive, queries]);

  return (
    <Frame title={words.title} lead={words.lead}>
      <div className="filters">
        <Filter name="subject" label={words.subjectFilter} placeholder="clients/" filters={filters} set={set} />
        <Filter name="actor" label={words.actorFilter} filters={filters} set={set} />
        <Filter name="requestId" label={words.requestFilter} filters={filters} set={set} />
        <SelectField
          name="outcome"
          label={words.outcome}
          value={filters.outcome ?? "any"}
          onChange={(outcome) => set({ outcome: outcome === "any" ? undefined : outcome })}
          options={[
            { id: "any", name: words.any },
            { id: "done", name: words.done },
            { id: "refused", name: words.refused },
          ]}
        />
        <CheckField isSelected={isLive} onChange={setLive}>
          {words.live}
        </CheckField>
      </div>
      <DataTable
        label={words.title}
        list={list}
        columns={[
          { id: "at", title: words.when, cell: ({ at }) => <time title={format.moment(at)}>{format.ago(at)}</time> },
          { id: "actor", title: words.actor, cell: ({ actor }) => actor || "–", wideOnly: true },
          {
            id: "action",
            title: words.action,
            share: isNarrow ? 1.5 : 0.7,
            cell: ({ action, subject, outcome }) => (
              <>
                {isNarrow && outcome !== "done" && <Badge kind="bad">{words[outcome]}</Badge>}
                <span className="cell-text" title={isNarrow ? `${action} ${subject}` : action}>
                  <strong>{action}</strong> {isNarrow && subject}
                </span>
              </>
            ),
          },
          { id: "subject", title: words.subject, cell: ({ subject }) => subject, share: 1.6, wideOnly: true },
          {
            id: "outcome",
            title: words.outcome,
            share: 0.7,
            wideOnly: true,
            cell: ({ outcome }) => <Badge kind={outcome === "done" ? "good" : "bad"}>{words[outcome]}</Badge>,
          },
        ]}
        idOf={(row) => `${row.at} ${row.requestId} ${row.action} ${row.subject}`}
        onOpen={show}
        empty={<Empty title={words.emptyTitle}>{words.emptyText}</Empty>}
      />
      {shown !== undefined && (
        <Panel title={`${shown.action} ${shown.subject}`} isOpen close={() => show(undefined)}>
          <Details row={shown} />
        </Panel>
      )}
    </Frame>
  );
}

interface FilterProps {
  readonly name: "subject" | "actor" | "requestId";
  readonly label: string;
  readonly placeholder?: string;
  readonly filters: Partial<Record<FilterProps["name"], string>>;
  readonly set: (more: Record<string, string>) => void;
}

function Filter({ name, filters, set, ...look }: FilterProps) {
  const [value, onChange] = useSearchText(filters[name] ?? "", (to) => set({ [name]: to }));
  return <TextField {...look} name={name} value={value} onChange={onChange} isFilter />;
}

const clean = (search: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(search).filter((entry): entry is [string, string] => Boolean(entry[1])));

function Details({ row }: { readonly row: AuditRow }) {
  const { audit: words, faults } = useWords();
  const format = useFormats();
  const text = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? "–"));
  return (
    <>
      <Facts
        facts={[
          [words.when, format.moment(row.at)],
          [words.actor, row.actor || "–"],
          [words.outcome, words[row.outcome]],
          [faults.requestId, <code key="id">{row.requestId || "–"}</code>],
          ...(row.reason === undefined ? [] : [[words.reason, row.reason] as const]),
        ]}
      />
      {row.changes !== undefined && row.changes.length > 0 && (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={words.changes}>
          <table className="plain-table">
            <tbody>
              {row.changes.map(({ field, from, to, added, removed }) => (
                <tr key={field}>
                  <th scope="row">{field}</th>
                  <td>
                    {from !== undefined && <del>{text(from)}</del>} {to !== undefined && <ins>{text(to)}</ins>}
                    {added?.map((one) => (
                      <ins key={one}>+ {one} </ins>
                    ))}
                    {removed?.map((one) => (
                      <del key={one}>− {one} </del>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
