import type { Role } from "../../../../api/plinth.ts";
import { Bold, type TableColumn } from "../../components/lists/data-table.tsx";
import { RecordList } from "../../components/records/record-list.tsx";
import { useWords } from "../../words/words.ts";
import { findRoles } from "./role-search.ts";

export function Page() {
  const { roles: words, common } = useWords();
  const columns: readonly TableColumn<Role>[] = [
    { id: "name", title: common.name, cell: ({ name }) => <Bold>{name}</Bold> },
    { id: "scopes", title: words.scopes, share: 2, cell: ({ scopes }) => scopes.join(", "), wideOnly: true },
  ];
  return (
    <RecordList
      kind="roles"
      ask={async ({ q }) => ({ status: 200, data: await findRoles(q) })}
      idOf={({ name }) => name}
      columns={columns}
    />
  );
}
