import { listOrganizations, type Organization } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { RecordList } from "../../components/records/record-list.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { organizations: words, common } = useWords();
  const format = useFormats();
  const { rights } = usePerson();
  return (
    <RecordList<Organization>
      kind="organizations"
      words={words}
      mayMake={rights.write}
      ask={(page) => listOrganizations(page, operations)}
      idOf={({ id }) => id}
      columns={[
        { id: "name", title: common.name, share: 2, cell: ({ name }) => <strong>{name}</strong> },
        { id: "id", title: common.id, cell: ({ id }) => <code>{id}</code> },
        { id: "created", title: common.created, cell: ({ createdAt }) => format.day(createdAt), wideOnly: true },
      ]}
    />
  );
}
