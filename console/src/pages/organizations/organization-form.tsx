import { useState } from "react";
import { putOrganization, type Organization } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

interface OrganizationFormProps {
  /** Absent: a new one. */
  readonly organization?: Organization;
  readonly cancel: () => void;
  readonly done: (id: string) => Promise<unknown>;
}

export function OrganizationForm({ organization, cancel, done }: OrganizationFormProps) {
  const { organizations: words, common } = useWords();
  const [id, setId] = useState(organization?.id ?? "");
  const [name, setName] = useState(organization?.name ?? "");
  return (
    <ServiceForm
      act={organization === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        await answer(putOrganization(id.trim(), { name }, operations));
        say.done(common.saved(name));
        await done(id.trim());
      }}
    >
      {organization === undefined && (
        <TextField name="id" label={common.id} help={words.idHelp} value={id} onChange={setId} isRequired />
      )}
      <TextField name="name" label={common.name} value={name} onChange={setName} isRequired />
    </ServiceForm>
  );
}
