import { listTenants, type Tenant } from "../../../../api/plinth.ts";
import { Bold, type TableColumn } from "../../components/lists/data-table.tsx";
import { RecordList } from "../../components/records/record-list.tsx";
import { StateBadge } from "../../components/records/state-badge.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

/** All tenants that the person may see. */
export function Page() {
  const { tenants: words, common } = useWords();
  const format = useFormats();
  const columns: readonly TableColumn<Tenant>[] = [
    {
      id: "name",
      title: common.name,
      share: 2,
      cell: ({ name, id }) => (
        <>
          <Bold>{name}</Bold> <code className="muted">{id}</code>
        </>
      ),
    },
    { id: "organization", title: words.organization, cell: ({ organization }) => organization, wideOnly: true },
    { id: "plan", title: words.plan, cell: ({ plan }) => plan, wideOnly: true },
    { id: "state", title: common.state, cell: ({ disabled }) => <StateBadge disabled={disabled} /> },
    { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
  ];
  return <RecordList kind="tenants" ask={listTenants} idOf={({ id }) => id} columns={columns} />;
}
