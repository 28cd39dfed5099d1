import { useState } from "react";
import { getPackage, getService, putPackage, putService, type Package, type Service } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CheckField, SelectField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, pairsOf, pairsText, textOf } from "../../components/forms/lines.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

interface Ends {
  readonly close: () => void;
  readonly done: () => Promise<unknown>;
}

/** Registers a service at the gateway, or changes it. */
export function ServiceRegistration({ service, close, done }: Ends & { readonly service?: Service }) {
  const { services: words, common } = useWords();
  const [draft, field] = useDraft({ name: "", sourceUrl: "", proxyPath: "", tenant: "", access: "token" }, service);
  const [lists, listField] = useDraft({
    scopes: textOf(service?.scopes),
    scopeDescriptions: pairsText(service?.scopeDescriptions ?? {}),
  });
  const [essential, setEssential] = useState(service?.essential ?? false);
  const [trusted, setTrusted] = useState(service?.trusted ?? false);
  const [forward, setForward] = useState(service?.forwardAuthorization ?? false);
  const write = useWrite(service);
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        const { sourceUrl, proxyPath, tenant } = draft;
        const name = draft.name.trim();
        const says = { scopes: linesOf(lists.scopes), scopeDescriptions: pairsOf(lists.scopeDescriptions) };
        const access = draft.access as Service["access"];
        const trusts = { access, essential, trusted, forwardAuthorization: forward };
        await write({
          key: "name",
          get: () => getService(name, operations),
          typed: { sourceUrl, proxyPath, tenant, ...says, ...trusts },
          kept: bodyOf,
          put: (body, under) => answer(putService(name, body, under)),
        });
        say.done(common.saved(name));
        close();
        await done();
      }}
    >
      {service === undefined && <TextField {...field("name")} label={common.name} isRequired />}
      <TextField {...field("sourceUrl")} label={words.source} isRequired />
      <TextField {...field("proxyPath")} label={words.path} placeholder="/catalog/v1" isRequired />
      <TextField {...field("tenant")} label={words.tenant} isRequired />
      <TextField {...listField("scopes")} label={words.scopes} help={words.scopesHelp} isMultiline />
      <TextField
        {...listField("scopeDescriptions")}
        label={words.descriptions}
        help={words.descriptionsHelp}
        isMultiline
      />
      <SelectField
        {...field("access")}
        label={words.access}
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

/** All its fields: a `PUT` resets each that is left out. */
const bodyOf = ({ sourceUrl = "", ...service }: Service) => {
  const { proxyPath, tenant, scopes, scopeDescriptions, access, essential, trusted, forwardAuthorization } = service;
  const trusts = { access, essential, trusted: trusted ?? false, forwardAuthorization: forwardAuthorization ?? false };
  return { sourceUrl, proxyPath, tenant, scopes, scopeDescriptions, ...trusts };
};

/** Makes a package of services, or changes it. */
export function PackageForm({ one, close, done }: Ends & { readonly one?: Package }) {
  const { services: words, common } = useWords();
  const [draft, field] = useDraft({ id: "", version: "1", organization: "" }, one);
  const [{ services }, listField] = useDraft({ services: textOf(one?.services) });
  const write = useWrite(one);
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        const { version, organization } = draft;
        const id = draft.id.trim();
        await write({
          key: "id",
          get: () => getPackage(id, operations),
          typed: { version, organization, services: linesOf(services) },
          kept: (now) => ({ version: now.version, organization: now.organization, services: [...now.services] }),
          put: (body, under) => answer(putPackage(id, body, under)),
        });
        say.done(common.saved(id));
        close();
        await done();
      }}
    >
      {one === undefined && <TextField {...field("id")} label={common.id} isRequired />}
      <TextField {...field("version")} label={words.version} isRequired />
      <TextField {...field("organization")} label={words.organization} isRequired />
      <TextField {...listField("services")} label={words.included} help={words.includedHelp} isMultiline />
    </ServiceForm>
  );
}
