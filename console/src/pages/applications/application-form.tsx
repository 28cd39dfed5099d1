import { useState } from "react";
import { putClient, type Client, type WrittenClient } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CheckField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, textOf } from "../../components/forms/lines.ts";
import { useWords } from "../../words/words.ts";
import { bodyOf, SETTINGS, type Kind } from "./kinds.ts";

interface ApplicationFormProps {
  /** The application; absent for a new one of `kind`. */
  readonly client?: Client;
  readonly kind: Kind;
  readonly cancel: () => void;
  readonly done: (written: WrittenClient) => Promise<unknown> | void;
}

/** Settings of an application. Fields that the form does not show are sent as they were. */
export function ApplicationForm({ client, kind, cancel, done }: ApplicationFormProps) {
  const { applications: words, common } = useWords();
  const [clientId, setClientId] = useState(client?.clientId ?? "");
  const [tenant, setTenant] = useState(client?.tenant ?? "");
  const [name, setName] = useState(client?.name ?? "");
  const [displayName, setDisplayName] = useState(client?.displayName ?? "");
  const [redirects, setRedirects] = useState(textOf(client?.redirectUris ?? []));
  const [afterwards, setAfterwards] = useState(textOf(client?.postLogoutRedirectUris ?? []));
  const [logoutUri, setLogoutUri] = useState(client?.backchannelLogoutUri ?? "");
  const [scopes, setScopes] = useState(textOf(client?.scopes ?? []));
  const [thirdParty, setThirdParty] = useState(client?.thirdParty ?? false);
  const hasPeople = kind !== "machine";
  return (
    <ServiceForm
      act={client === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const kept = client === undefined ? SETTINGS[kind] : bodyOf(client);
        const body = {
          ...kept,
          grantTypes: [...kept.grantTypes],
          tenant: tenant.trim(),
          ...(name.trim() !== "" && { name: name.trim() }),
          displayName,
          redirectUris: linesOf(redirects),
          postLogoutRedirectUris: linesOf(afterwards),
          backchannelLogoutUri: hasPeople ? logoutUri.trim() : "",
          scopes: linesOf(scopes),
          thirdParty: hasPeople && thirdParty,
        };
        await done(await answer(putClient(clientId.trim(), body, operations)));
      }}
    >
      {client === undefined && (
        <>
          <TextField
            name="clientId"
            label={words.clientId}
            help={words.clientIdHelp}
            value={clientId}
            onChange={setClientId}
            isRequired
          />
          <TextField name="tenant" label={words.tenant} value={tenant} onChange={setTenant} isRequired />
        </>
      )}
      <TextField name="name" label={words.owner} help={words.ownerHelp} value={name} onChange={setName} />
      <TextField name="displayName" label={words.displayName} value={displayName} onChange={setDisplayName} />
      {hasPeople && (
        <>
          <TextField
            name="redirectUris"
            label={words.redirectUris}
            help={words.redirectHelp}
            value={redirects}
            onChange={setRedirects}
            isMultiline
            isRequired
          />
          <TextField
            name="postLogoutRedirectUris"
            label={words.postLogoutUris}
            value={afterwards}
            onChange={setAfterwards}
            isMultiline
          />
          <TextField
            name="backchannelLogoutUri"
            label={words.backchannelLogoutUri}
            help={words.backchannelLogoutHelp}
            value={logoutUri}
            onChange={setLogoutUri}
          />
        </>
      )}
      <TextField
        name="scopes"
        label={words.scopes}
        help={words.scopesHelp}
        value={scopes}
        onChange={setScopes}
        isMultiline
      />
      {hasPeople && (
        <CheckField name="thirdParty" isSelected={thirdParty} onChange={setThirdParty}>
          {words.thirdParty}
        </CheckField>
      )}
    </ServiceForm>
  );
}
