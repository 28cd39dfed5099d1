import { getOrganization, putOrganization, type Organization } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { mustBeNew } from "../../components/forms/form-fault.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { NewRecord } from "../../components/records/new-record.tsx";
import type { RecordFormProps } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

/** Creates an organization. */
export const Page = () => <NewRecord kind="organizations" form={OrganizationForm} />;

export function OrganizationForm({ record: organization, cancel, done }: RecordFormProps<Organization>) {
  const { organizations: words, common } = useWords();
  const [{ id, name }, field] = useDraft({ id: "", name: "" }, organization);
  return (
    <ServiceForm
      act={organization === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        if (organization === undefined) await mustBeNew(getOrganization(id.trim(), operations), "id", common.taken);
        await answer(putOrganization(id.trim(), { name }, operations));
        say.done(common.saved(name));
        await done(id.trim());
      }}
    >
      {organization === undefined && <TextField {...field("id")} label={common.id} help={words.idHelp} isRequired />}
      <TextField {...field("name")} label={common.name} isRequired />
    </ServiceForm>
  );
}
