import { useParams } from "@tanstack/react-router";
import { deleteOrganization, getOrganization, type Organization } from "../../../../api/plinth.ts";
import { Card, Facts } from "../../components/page.tsx";
import { DeleteRecord } from "../../components/records/record-acts.tsx";
import { RecordPage } from "../../components/records/record-page.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { Members } from "../members/members.tsx";
import { OrganizationForm } from "./organization-form.tsx";

export function Page() {
  const { common } = useWords();
  const { id } = useParams({ from: "/inside/organizations/$id" });
  const { rights } = usePerson();
  const format = useFormats();
  return (
    <RecordPage<Organization>
      kind="organizations"
      id={id}
      ask={getOrganization}
      nameOf={({ name }) => name}
      form={OrganizationForm}
      acts={({ name }) => <DeleteRecord kind="organizations" id={id} name={name} remove={deleteOrganization} />}
    >
      {({ createdAt }) => (
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
        </>
      )}
    </RecordPage>
  );
}
