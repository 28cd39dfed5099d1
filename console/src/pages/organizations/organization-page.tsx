import { useParams } from "@tanstack/react-router";
import { deleteOrganization, getOrganization, type Organization } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { Card, Facts } from "../../components/page.tsx";
import { DeleteRecord } from "../../components/records/delete-record.tsx";
import { RecordPage } from "../../components/records/record-page.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { Members } from "../members/members.tsx";
import { OrganizationForm } from "./organization-form.tsx";

export function Page() {
  const { organizations: words, common } = useWords();
  const { id } = useParams({ from: "/inside/organizations/$id" });
  const { rights } = usePerson();
  const format = useFormats();
  return (
    <RecordPage<Organization>
      kind="organizations"
      id={id}
      listTitle={words.title}
      ask={() => getOrganization(id, operations)}
      nameOf={({ name }) => name}
      mayEdit={rights.write}
      form={(one, close, done) => <OrganizationForm organization={one} cancel={close} done={done} />}
    >
      {({ name, createdAt }) => (
        <>
          <Card>
            <Facts
              facts={[
                [common.id, <code key="id">{id}</code>],
                [common.created, format.moment(createdAt)],
              ]}
            />
          </Card>
          <Members of="organization" id={id} mayChange={rights.write || rights.tenantsOnly} />
          {rights.write && (
            <div className="buttons">
              <DeleteRecord kind="organizations" id={id} name={name} remove={() => deleteOrganization(id, operations)}>
                {words.deleteText}
              </DeleteRecord>
            </div>
          )}
        </>
      )}
    </RecordPage>
  );
}
