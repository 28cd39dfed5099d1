import { listClients, type Client } from "../../../../api/plinth.ts";
import { Bold, type TableColumn } from "../../components/lists/data-table.tsx";
import { RecordList } from "../../components/records/record-list.tsx";
import { StateBadge } from "../../components/records/state-badge.tsx";
import { useWords } from "../../words/words.ts";
import { kindOf } from "./kinds.ts";

export function Page() {
  const { applications: words, common } = useWords();
  const columns: readonly TableColumn<Client>[] = [
    {
      id: "id",
      title: words.clientId,
      share: 2,
      cell: ({ clientId, displayName }) => (
        <>
          <Bold>{displayName === "" ? clientId : displayName}</Bold>
          {displayName !== "" && <code className="muted">{clientId}</code>}
        </>
      ),
    },
    { id: "tenant", title: words.tenant, cell: ({ tenant }) => tenant, wideOnly: true },
    { id: "kind", title: words.kind, cell: (one) => words.kinds[kindOf(one)], wideOnly: true },
    { id: "state", title: common.state, cell: ({ disabled }) => <StateBadge disabled={disabled} /> },
  ];
  return <RecordList kind="applications" ask={listClients} idOf={({ clientId }) => clientId} columns={columns} />;
}
