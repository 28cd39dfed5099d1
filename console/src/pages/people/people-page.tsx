import { useNavigate, useSearch } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { listUsers, type User } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { LinkButton } from "../../components/button.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { NothingFound, SearchBox } from "../../components/lists/search-box.tsx";
import { Badge, Empty } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { people: words, common } = useWords();
  const format = useFormats();
  const { rights } = usePerson();
  const { q } = useSearch({ from: "/inside/people" });
  const navigate = useNavigate({ from: "/people" });
  const list = useList<User>(
    ["people", { q }],
    (page) => listUsers({ ...page, ...(q !== undefined && { q }) }, operations),
    {
      keepRows: true,
    },
  );
  const make = rights.write && (
    <LinkButton className="primary" href="/people/new">
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
          { id: "email", title: words.email, share: 2, cell: ({ email }) => <strong>{email}</strong> },
          { id: "name", title: words.displayName, cell: ({ name }) => name, wideOnly: true },
          {
            id: "password",
            title: words.hasPassword,
            cell: ({ hasPassword }) => (hasPassword ? common.yes : common.no),
            wideOnly: true,
          },
          {
            id: "state",
            title: common.state,
            cell: ({ disabled }) => (
              <Badge kind={disabled ? "bad" : "good"}>{disabled ? common.disabled : common.active}</Badge>
            ),
          },
          { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
        ]}
        idOf={({ email }) => email}
        hrefOf={({ email }) => `/people/${email}`}
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
