import { useSearch } from "@tanstack/react-router";
import { listOperatedErasures, type Erasure } from "../../../../../api/plinth.ts";
import { useList } from "../../../api/lists.ts";
import { DataTable } from "../../../components/lists/data-table.tsx";
import { Page as Frame } from "../../../components/page.tsx";
import { Badge, Empty } from "../../../components/states.tsx";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import { mediaHref, ownerOf, type Owner } from "../owner.ts";
import { OwnerChooser } from "../files/owner-chooser.tsx";
import { useMediaWords } from "../words.ts";

export const ERASURE_KIND = { deleting: "warn", deleted: "plain", verified: "good" } as const;

/** Deletions of a client's files in a tenant, by anybody. */
export function Page() {
  const words = useMediaWords();
  const owner = ownerOf(useSearch({ from: "/inside/media/erasures" }));
  return (
    <Frame
      title={words.erasures}
      lead={words.erasuresLead}
      parent={{ href: owner === undefined ? "/media" : mediaHref(owner), title: words.title }}
    >
      <OwnerChooser isOfBoth />
      {owner === undefined ? <Empty title={words.chooseTitle}>{words.chooseText}</Empty> : <Erasures owner={owner} />}
    </Frame>
  );
}

function Erasures({ owner: { tenant, client } }: { readonly owner: Owner }) {
  const words = useMediaWords();
  const { common } = useWords();
  const format = useFormats();
  const list = useList<Erasure>(["erasures", tenant, client], (page, options) =>
    listOperatedErasures(tenant, client, page, options),
  );
  return (
    <DataTable
      label={words.erasures}
      list={list}
      columns={[
        { id: "when", title: words.requestedAt, share: 1.5, cell: ({ requestedAt }) => format.moment(requestedAt) },
        { id: "what", title: words.what, wideOnly: true, cell: ({ kind }) => words.erasureKinds[kind] },
        {
          id: "files",
          title: words.files,
          align: "end",
          wideOnly: true,
          cell: ({ files }) => format.number(files.requested),
        },
        {
          id: "visibility",
          title: words.visibility,
          wideOnly: true,
          cell: ({ visibility }) => words.visibilities[visibility],
        },
        {
          id: "state",
          title: common.state,
          cell: ({ state }) => <Badge kind={ERASURE_KIND[state]}>{words.erasureStates[state]}</Badge>,
        },
      ]}
      idOf={({ id }) => id}
      hrefOf={({ id }) => `/media/erasures/${id}`}
      empty={<Empty title={words.noErasures}>{words.noErasuresText}</Empty>}
    />
  );
}
