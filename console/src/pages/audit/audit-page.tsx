import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useEffect, useState } from "react";
import { listAudit, type AuditRow } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { CheckField, SelectField, TextField } from "../../components/forms/form.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Panel } from "../../components/panel.tsx";
import { Facts, Page as Frame } from "../../components/page.tsx";
import { Badge, Empty } from "../../components/states.tsx";
import { useIsNarrow } from "../../components/use-is-narrow.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

const LIVE_MS = 5_000;

/** Every change and refusal, newest first. The filters are in the address. */
export function Page() {
  const { audit: words } = useWords();
  const format = useFormats();
  // A phone has room for two columns.
  const isNarrow = useIsNarrow();
  const search = useSearch({ from: "/inside/audit" });
  const filters = useDeferredValue(search);
  const navigate = useNavigate({ from: "/audit" });
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  const [shown, show] = useState<AuditRow>();
  const set = (more: Record<string, string | undefined>) =>
    void navigate({ search: (old) => clean({ ...old, ...more }), replace: true });
  const filter = (name: "subject" | "actor" | "requestId") => ({
    name,
    value: search[name] ?? "",
    onChange: (to: string) => set({ [name]: to }),
    isRequired: true,
  });
  const list = useList<AuditRow>(["audit", filters], (page) =>
    listAudit({ ...filters, ...page } as object, operations),
  );

  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => void queries.invalidateQueries({ queryKey: ["audit"] }), LIVE_MS);
    return () => clearInterval(timer);
  }, [isLive, queries]);

  return (
    <Frame title={words.title} lead={words.lead}>
      <div className="filters">
        <TextField {...filter("subject")} label={words.subjectFilter} placeholder="clients/" />
        <TextField {...filter("actor")} label={words.actorFilter} />
        <TextField {...filter("requestId")} label={words.requestFilter} />
        <SelectField
          name="outcome"
          label={words.outcome}
          value={search.outcome ?? "any"}
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
