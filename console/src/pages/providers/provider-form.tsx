import { useState } from "react";
import { putIdentityProvider, type IdentityProvider } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CheckField, SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, textOf } from "../../components/forms/lines.ts";
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
  const [id, setId] = useState(provider?.id ?? "");
  const [issuer, setIssuer] = useState(provider?.issuer ?? "");
  const [clientId, setClientId] = useState(provider?.clientId ?? "");
  const [secret, setSecret] = useState("");
  const [scopes, setScopes] = useState(provider?.scopes.join(" ") ?? "openid email profile");
  const [tenants, setTenants] = useState(textOf(provider?.tenants ?? []));
  const [domains, setDomains] = useState(textOf(provider?.domains ?? []));
  const [linking, setLinking] = useState<Linking>(provider?.linking ?? "confirm");
  const [button, setButton] = useState(provider?.button ?? "");
  const [trustEmail, setTrustEmail] = useState(provider?.trustEmail ?? false);
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        const body = {
          issuer: issuer.trim(),
          clientId: clientId.trim(),
          ...(secret !== "" && { clientSecret: secret }),
          scopes: linesOf(scopes),
          tenants: linesOf(tenants),
          domains: linesOf(domains),
          linking,
          trustEmail,
          button,
        };
        await answer(putIdentityProvider(id.trim(), body, operations));
        say.done(common.saved(id));
        close();
        await done();
      }}
    >
      {provider === undefined && <TextField name="id" label={common.id} value={id} onChange={setId} isRequired />}
      <TextField
        name="issuer"
        type="url"
        label={words.issuer}
        help={words.issuerHelp}
        value={issuer}
        onChange={setIssuer}
        isRequired
      />
      <TextField name="clientId" label={words.clientId} value={clientId} onChange={setClientId} isRequired />
      <TextField
        name="clientSecret"
        type="password"
        autoComplete="off"
        label={words.clientSecret}
        {...(provider !== undefined && { help: words.secretKept })}
        value={secret}
        onChange={setSecret}
        isRequired={provider === undefined}
      />
      <TextField name="scopes" label={words.scopes} value={scopes} onChange={setScopes} isRequired />
      <SelectField
        name="linking"
        label={words.linking}
        value={linking}
        onChange={(value) => setLinking(value as Linking)}
        options={LINKINGS.map((one) => ({ id: one, name: words.linkings[one] }))}
      />
      <TextField
        name="domains"
        label={words.domains}
        help={words.domainsHelp}
        value={domains}
        onChange={setDomains}
        isMultiline
      />
      <TextField
        name="tenants"
        label={words.tenants}
        help={words.tenantsHelp}
        value={tenants}
        onChange={setTenants}
        isMultiline
      />
      <TextField name="button" label={words.button} help={words.buttonHelp} value={button} onChange={setButton} />
      <CheckField isSelected={trustEmail} onChange={setTrustEmail}>
        {words.trustEmail}
      </CheckField>
    </ServiceForm>
  );
}
