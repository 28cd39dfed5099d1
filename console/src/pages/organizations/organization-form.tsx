import { getOrganization, putOrganization, type Organization } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { NewRecord } from "../../components/records/new-record.tsx";
import type { RecordFormProps } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

/** Creates an organization. */
export const Page = () => <NewRecord kind="organizations" form={OrganizationForm} />;

export function OrganizationForm({ record: organization, cancel, done }: RecordFormProps<Organization>) {
  const { organizations: words, common } = useWords();
  const [draft, field] = useDraft({ id: "", name: "" }, organization);
  const write = useWrite(organization);
  return (
    <ServiceForm
      act={organization === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const id = draft.id.trim();
        await write({
          key: "id",
          get: () => getOrganization(id, operations),
          typed: { name: draft.name },
          kept: ({ name }) => ({ name }),
          put: (body, under) => answer(putOrganization(id, body, under)),
        });
        say.done(common.saved(draft.name));
        await done(id);
      }}
    >
      {organization === undefined && <TextField {...field("id")} label={common.id} help={words.idHelp} isRequired />}
      <TextField {...field("name")} label={common.name} isRequired />
    </ServiceForm>
  );
}
