import { Plus } from "lucide-react";
import { listOrganizations, type Organization } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { LinkButton } from "../../components/button.tsx";
import { DataTable } from "../../components/lists/data-table.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { organizations: words, common } = useWords();
  const format = useFormats();
  const { rights } = usePerson();
  const list = useList<Organization>(["organizations"], (page) => listOrganizations(page, operations));
  const make = rights.write && (
    <LinkButton className="primary" href="/organizations/new">
      <Plus aria-hidden size={16} /> {words.make}
    </LinkButton>
  );
  return (
    <Frame title={words.title} lead={words.lead} actions={make}>
      <DataTable
        label={words.title}
        list={list}
        columns={[
          { id: "name", title: common.name, share: 2, cell: ({ name }) => <strong>{name}</strong> },
          { id: "id", title: common.id, cell: ({ id }) => <code>{id}</code> },
          { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
        ]}
        idOf={({ id }) => id}
        hrefOf={({ id }) => `/organizations/${id}`}
        empty={
          <Empty title={words.emptyTitle} action={make}>
            {words.emptyText}
          </Empty>
        }
      />
    </Frame>
  );
}
