import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { listClients, type Client } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { LinkButton } from "../../components/button.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { NothingFound, SearchBox } from "../../components/lists/search-box.tsx";
import { Badge, Empty } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";
import { kindOf } from "./kinds.ts";

export function Page() {
  const { applications: words, common } = useWords();
  const { rights } = usePerson();
  const { q } = useSearch({ from: "/inside/applications" });
  const navigate = useNavigate({ from: "/applications" });
  const list = useList<Client>(
    ["applications", { q }],
    (page) => listClients({ ...page, ...(q !== undefined && { q }) }, operations),
    {
      keepRows: true,
    },
  );
  const make = (rights.write || rights.tenantsOnly) && (
    <LinkButton className="primary" href="/applications/new">
      <Plus aria-hidden size={16} /> {words.make}
    </LinkButton>
  );
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
        columns={[
          {
            id: "id",
            title: words.clientId,
            share: 2,
            cell: ({ clientId, displayName }) => (
              <>
                <strong>{displayName === "" ? clientId : displayName}</strong>
                {displayName !== "" && <code className="muted">{clientId}</code>}
              </>
            ),
          },
          { id: "tenant", title: words.tenant, cell: ({ tenant }) => tenant, wideOnly: true },
          { id: "kind", title: words.kind, cell: (one) => words.kinds[kindOf(one)], wideOnly: true },
          {
            id: "state",
            title: common.state,
            cell: ({ disabled }) => (
              <Badge kind={disabled ? "bad" : "good"}>{disabled ? common.disabled : common.active}</Badge>
            ),
          },
        ]}
        idOf={({ clientId }) => clientId}
        hrefOf={({ clientId }) => `/applications/${clientId}`}
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
