import { listUsers, type User } from "../../../../api/plinth.ts";
import { Bold, type TableColumn } from "../../components/lists/data-table.tsx";
import { RecordList } from "../../components/records/record-list.tsx";
import { StateBadge } from "../../components/records/state-badge.tsx";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { people: words, common } = useWords();
  const format = useFormats();
  const columns: readonly TableColumn<User>[] = [
    { id: "email", title: words.email, share: 3, cell: ({ email }) => <Bold>{email}</Bold> },
    { id: "name", title: words.displayName, share: 1.5, cell: ({ name }) => name, wideOnly: true },
    {
      id: "password",
      title: words.hasPassword,
      cell: ({ hasPassword }) => (hasPassword ? common.yes : common.no),
      wideOnly: true,
    },
    { id: "state", title: common.state, cell: ({ disabled }) => <StateBadge disabled={disabled} /> },
    { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
  ];
  return <RecordList kind="people" ask={listUsers} idOf={({ email }) => email} columns={columns} />;
}
