import { useState } from "react";
import { getIdentityProvider, putIdentityProvider, type IdentityProvider } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CheckField, SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, textOf } from "../../components/forms/lines.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

type Linking = IdentityProvider["linking"];
const LINKINGS: readonly Linking[] = ["confirm", "operator", "verified_email"];

interface ProviderFormProps {
  /** The provider; absent for a new one. */
  readonly provider?: IdentityProvider;
  readonly close: () => void;
  readonly done: () => Promise<unknown>;
}

export function ProviderForm({ provider, close, done }: ProviderFormProps) {
  const { providers: words, common } = useWords();
  const [draft, field] = useDraft(
    { id: "", issuer: "", clientId: "", clientSecret: "", linking: "confirm", button: "" },
    // The service shows stars in place of the secret. A new one would be typed behind them.
    provider && { ...provider, clientSecret: "" },
  );
  const [lists, listField] = useDraft({
    scopes: provider?.scopes.join(" ") ?? "openid email profile",
    tenants: textOf(provider?.tenants),
    domains: textOf(provider?.domains),
  });
  const [trustEmail, setTrustEmail] = useState(provider?.trustEmail ?? false);
  const write = useWrite(provider);
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        const { clientSecret, button } = draft;
        const id = draft.id.trim();
        const bindings = { tenants: linesOf(lists.tenants), domains: linesOf(lists.domains) };
        const trusts = { ...bindings, linking: draft.linking as Linking, trustEmail };
        await write({
          key: "id",
          get: () => getIdentityProvider(id, operations),
          typed: {
            issuer: draft.issuer.trim(),
            clientId: draft.clientId.trim(),
            ...(clientSecret !== "" && { clientSecret }),
            scopes: linesOf(lists.scopes),
            ...trusts,
            button,
          },
          kept: ({ issuer, clientId, scopes }) => ({ issuer, clientId, scopes: [...scopes] }),
          put: (body, under) => answer(putIdentityProvider(id, body, under)),
        });
        say.done(common.saved(id));
        close();
        await done();
      }}
    >
      {provider === undefined && <TextField {...field("id")} label={common.id} isRequired />}
      <TextField {...field("issuer")} type="url" label={words.issuer} help={words.issuerHelp} isRequired />
      <TextField {...field("clientId")} label={words.clientId} isRequired />
      <TextField
        {...field("clientSecret")}
        type="password"
        autoComplete="off"
        label={words.clientSecret}
        {...(provider !== undefined && { help: words.secretKept })}
        isRequired={provider === undefined}
      />
      <TextField {...listField("scopes")} label={words.scopes} isRequired />
      <SelectField
        {...field("linking")}
        label={words.linking}
        options={LINKINGS.map((id) => ({ id, name: words.linkings[id] }))}
      />
      <TextField {...listField("domains")} label={words.domains} help={words.domainsHelp} isMultiline />
      <TextField {...listField("tenants")} label={words.tenants} help={words.tenantsHelp} isMultiline />
      <TextField {...field("button")} label={words.button} help={words.buttonHelp} />
      <CheckField isSelected={trustEmail} onChange={setTrustEmail}>
        {words.trustEmail}
      </CheckField>
    </ServiceForm>
  );
}
