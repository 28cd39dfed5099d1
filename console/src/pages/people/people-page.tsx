import { listUsers, type User } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { RecordList } from "../../components/records/record-list.tsx";
import { StateBadge } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { people: words, common } = useWords();
  const format = useFormats();
  const { rights } = usePerson();
  return (
    <RecordList<User>
      kind="people"
      words={words}
      mayMake={rights.write}
      ask={(page) => listUsers(page, operations)}
      idOf={({ email }) => email}
      columns={[
        { id: "email", title: words.email, share: 2, cell: ({ email }) => <strong>{email}</strong> },
        { id: "name", title: words.displayName, cell: ({ name }) => name, wideOnly: true },
        {
          id: "password",
          title: words.hasPassword,
          cell: ({ hasPassword }) => (hasPassword ? common.yes : common.no),
          wideOnly: true,
        },
        { id: "state", title: common.state, cell: ({ disabled }) => <StateBadge disabled={disabled} /> },
        { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
      ]}
    />
  );
}
