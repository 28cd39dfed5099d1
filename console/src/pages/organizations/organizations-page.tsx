import { listOrganizations, type Organization } from "../../../../api/plinth.ts";
import { Bold, type TableColumn } from "../../components/lists/data-table.tsx";
import { RecordList } from "../../components/records/record-list.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { common } = useWords();
  const format = useFormats();
  const columns: readonly TableColumn<Organization>[] = [
    { id: "name", title: common.name, share: 2, cell: ({ name }) => <Bold>{name}</Bold> },
    { id: "id", title: common.id, cell: ({ id }) => <code>{id}</code> },
    { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
  ];
  return <RecordList kind="organizations" ask={listOrganizations} idOf={({ id }) => id} columns={columns} />;
}
