import { useState } from "react";
import { putPackage, putService, type Package, type Service } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CheckField, SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, pairsOf, pairsText, textOf } from "../../components/forms/lines.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

interface Ends {
  readonly close: () => void;
  readonly done: () => Promise<unknown>;
}

/** Registers a service at the gateway, or changes it. */
export function ServiceRegistration({ service, close, done }: Ends & { readonly service?: Service }) {
  const { services: words, common } = useWords();
  const [name, setName] = useState(service?.name ?? "");
  const [sourceUrl, setSourceUrl] = useState(service?.sourceUrl ?? "");
  const [proxyPath, setProxyPath] = useState(service?.proxyPath ?? "");
  const [tenant, setTenant] = useState(service?.tenant ?? "");
  const [scopes, setScopes] = useState(textOf(service?.scopes ?? []));
  const [descriptions, setDescriptions] = useState(pairsText(service?.scopeDescriptions ?? {}));
  const [access, setAccess] = useState<Service["access"]>(service?.access ?? "token");
  const [essential, setEssential] = useState(service?.essential ?? false);
  const [trusted, setTrusted] = useState(service?.trusted ?? false);
  const [forward, setForward] = useState(service?.forwardAuthorization ?? false);
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        const says = { scopes: linesOf(scopes), scopeDescriptions: pairsOf(descriptions) };
        const trusts = { access, essential, trusted, forwardAuthorization: forward };
        await answer(putService(name.trim(), { sourceUrl, proxyPath, tenant, ...says, ...trusts }, operations));
        say.done(common.saved(name));
        close();
        await done();
      }}
    >
      {service === undefined && (
        <TextField name="name" label={common.name} value={name} onChange={setName} isRequired />
      )}
      <TextField name="sourceUrl" label={words.source} value={sourceUrl} onChange={setSourceUrl} isRequired />
      <TextField
        name="proxyPath"
        label={words.path}
        placeholder="/catalog/v1"
        value={proxyPath}
        onChange={setProxyPath}
        isRequired
      />
      <TextField name="tenant" label={words.tenant} value={tenant} onChange={setTenant} isRequired />
      <TextField
        name="scopes"
        label={words.scopes}
        help={words.scopesHelp}
        value={scopes}
        onChange={setScopes}
        isMultiline
      />
      <TextField
        name="scopeDescriptions"
        label={words.descriptions}
        help={words.descriptionsHelp}
        value={descriptions}
        onChange={setDescriptions}
        isMultiline
      />
      <SelectField
        name="access"
        label={words.access}
        value={access}
        onChange={(value) => setAccess(value as Service["access"])}
        options={[
          { id: "token", name: words.accessToken },
          { id: "public", name: words.accessPublic },
        ]}
      />
      <CheckField isSelected={essential} onChange={setEssential}>
        {words.essential}
      </CheckField>
      <CheckField isSelected={trusted} onChange={setTrusted}>
        {words.trusted}
      </CheckField>
      <CheckField isSelected={forward} onChange={setForward}>
        {words.forward}
      </CheckField>
    </ServiceForm>
  );
}

/** Makes a package of services, or changes it. */
export function PackageForm({ one, close, done }: Ends & { readonly one?: Package }) {
  const { services: words, common } = useWords();
  const [id, setId] = useState(one?.id ?? "");
  const [version, setVersion] = useState(one?.version ?? "1");
  const [organization, setOrganization] = useState(one?.organization ?? "");
  const [included, setIncluded] = useState(textOf(one?.services ?? []));
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        await answer(putPackage(id.trim(), { version, organization, services: linesOf(included) }, operations));
        say.done(common.saved(id));
        close();
        await done();
      }}
    >
      {one === undefined && <TextField name="id" label={common.id} value={id} onChange={setId} isRequired />}
      <TextField name="version" label={words.version} value={version} onChange={setVersion} isRequired />
      <TextField
        name="organization"
        label={words.organization}
        value={organization}
        onChange={setOrganization}
        isRequired
      />
      <TextField
        name="services"
        label={words.included}
        help={words.includedHelp}
        value={included}
        onChange={setIncluded}
        isMultiline
      />
    </ServiceForm>
  );
}
