import { useState } from "react";
import { putTenant, type Tenant } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

const PLANS = ["small", "standard", "large"] as const;
type Plan = (typeof PLANS)[number];

interface TenantFormProps {
  /** The tenant; absent for a new one. */
  readonly tenant?: Tenant;
  readonly cancel: () => void;
  readonly done: (id: string) => Promise<unknown>;
}

/** Creates or changes a tenant. */
export function TenantForm({ tenant, cancel, done }: TenantFormProps) {
  const { tenants: words, common } = useWords();
  const [id, setId] = useState(tenant?.id ?? "");
  const [name, setName] = useState(tenant?.name ?? "");
  const [organization, setOrganization] = useState(tenant?.organization ?? "");
  const [plan, setPlan] = useState<Plan>(tenant?.plan ?? "standard");
  const [files, setFiles] = useState(String(tenant?.quota.files ?? ""));
  const [bytes, setBytes] = useState(String(tenant?.quota.bytes ?? ""));
  return (
    <ServiceForm
      act={tenant === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const quota = {
          ...(files.trim() !== "" && { files: Number(files) }),
          ...(bytes.trim() !== "" && { bytes: Number(bytes) }),
        };
        await answer(putTenant(id.trim(), { organization: organization.trim(), name, plan, quota }, operations));
        say.done(common.saved(name));
        await done(id.trim());
      }}
    >
      {tenant === undefined && (
        <TextField name="id" label={common.id} help={words.idHelp} value={id} onChange={setId} isRequired />
      )}
      <TextField name="name" label={common.name} value={name} onChange={setName} isRequired />
      <TextField
        name="organization"
        label={words.organization}
        value={organization}
        onChange={setOrganization}
        isRequired
      />
      <SelectField
        name="plan"
        label={words.plan}
        help={words.planHelp}
        value={plan}
        onChange={(value) => setPlan(value as Plan)}
        options={PLANS.map((one) => ({ id: one, name: one }))}
      />
      <TextField
        name="quota.files"
        label={words.quotaFiles}
        help={words.quotaHelp}
        value={files}
        onChange={setFiles}
        type="number"
      />
      <TextField
        name="quota.bytes"
        label={words.quotaBytes}
        help={words.quotaHelp}
        value={bytes}
        onChange={setBytes}
        type="number"
      />
    </ServiceForm>
  );
}
