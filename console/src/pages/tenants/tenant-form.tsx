import { getTenant, putTenant, type Tenant } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { NewRecord } from "../../components/records/new-record.tsx";
import type { RecordFormProps } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

const PLANS = ["small", "standard", "large"] as const;

/** Creates a tenant. */
export const Page = () => <NewRecord kind="tenants" form={TenantForm} />;

/** Creates or changes a tenant. */
export function TenantForm({ record: tenant, cancel, done }: RecordFormProps<Tenant>) {
  const { tenants: words, common } = useWords();
  const [draft, field] = useDraft({ id: "", name: "", organization: "", plan: "standard" }, tenant);
  const [quota, quotaField] = useDraft({
    "quota.files": String(tenant?.quota.files ?? ""),
    "quota.bytes": String(tenant?.quota.bytes ?? ""),
  });
  const write = useWrite(tenant);
  return (
    <ServiceForm
      act={tenant === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const id = draft.id.trim();
        const [files, bytes] = [quota["quota.files"].trim(), quota["quota.bytes"].trim()];
        const limits = { ...(files !== "" && { files: Number(files) }), ...(bytes !== "" && { bytes: Number(bytes) }) };
        const named = { organization: draft.organization.trim(), name: draft.name };
        await write({
          key: "id",
          get: () => getTenant(id, operations),
          typed: { ...named, plan: draft.plan as Tenant["plan"], quota: limits },
          kept: ({ organization, name }) => ({ organization, name }),
          put: (body, under) => answer(putTenant(id, body, under)),
        });
        say.done(common.saved(draft.name));
        await done(id);
      }}
    >
      {tenant === undefined && <TextField {...field("id")} label={common.id} help={words.idHelp} isRequired />}
      <TextField {...field("name")} label={common.name} isRequired />
      <TextField {...field("organization")} label={words.organization} isRequired />
      <SelectField
        {...field("plan")}
        label={words.plan}
        help={words.planHelp}
        options={PLANS.map((id) => ({ id, name: id }))}
      />
      <TextField {...quotaField("quota.files")} type="number" label={words.quotaFiles} help={words.quotaHelp} />
      <TextField {...quotaField("quota.bytes")} type="number" label={words.quotaBytes} help={words.quotaHelp} />
    </ServiceForm>
  );
}
