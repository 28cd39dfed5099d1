import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { listTenants, type Tenant } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { LinkButton } from "../../components/button.tsx";
import { DataTable, type TableColumn } from "../../components/lists/data-table.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { NothingFound, SearchBox } from "../../components/lists/search-box.tsx";
import { Badge, Empty } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

/** All tenants that the person may see. */
export function Page() {
  const { tenants: words, common } = useWords();
  const format = useFormats();
  const { rights } = usePerson();
  const { q } = useSearch({ from: "/inside/tenants" });
  const navigate = useNavigate({ from: "/tenants" });
  const list = useList<Tenant>(
    ["tenants", { q }],
    (page) => listTenants({ ...page, ...(q !== undefined && { q }) }, operations),
    {
      keepRows: true,
    },
  );
  const make = rights.write && (
    <LinkButton className="primary" href="/tenants/new">
      <Plus aria-hidden size={16} /> {words.make}
    </LinkButton>
  );
  const columns: readonly TableColumn<Tenant>[] = [
    {
      id: "name",
      title: common.name,
      share: 2,
      cell: ({ name, id }) => (
        <>
          <strong>{name}</strong> <code className="muted">{id}</code>
        </>
      ),
    },
    { id: "organization", title: words.organization, cell: ({ organization }) => organization, wideOnly: true },
    { id: "plan", title: words.plan, cell: ({ plan }) => plan, wideOnly: true },
    {
      id: "state",
      title: common.state,
      cell: ({ disabled }) =>
        disabled ? <Badge kind="bad">{common.disabled}</Badge> : <Badge kind="good">{common.active}</Badge>,
    },
    { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
  ];
  return (
    <Frame title={words.title} lead={words.lead} actions={make}>
      <SearchBox
        label={words.search}
        value={q ?? ""}
        onChange={(to) => void navigate({ search: to === "" ? {} : { q: to }, replace: true })}
      />
      <DataTable
        label={words.title}
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `/tenants/${id}`}
        empty={
          q === undefined ? (
            <Empty title={words.emptyTitle} action={make}>
              {words.emptyText}
            </Empty>
          ) : (
            <NothingFound text={q} />
          )
        }
      />
    </Frame>
  );
}
