import { useState } from "react";
import { getClient, putClient, type Client, type WrittenClient } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CheckField, ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, textOf } from "../../components/forms/lines.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { useWords } from "../../words/words.ts";
import { bodyOf, hasPeople, isReturnedTo, SETTINGS, type Kind } from "./kinds.ts";

interface ApplicationFormProps {
  /** The application; absent for a new one of `kind`. */
  readonly client?: Client;
  readonly kind: Kind;
  readonly cancel: () => void;
  readonly done: (written: WrittenClient) => Promise<unknown> | void;
}

/** Settings of an application. Fields that the form does not show stay as they are. */
export function ApplicationForm({ client, kind, cancel, done }: ApplicationFormProps) {
  const { applications: words, common } = useWords();
  const [draft, field] = useDraft(
    { clientId: "", tenant: "", name: "", displayName: "", backchannelLogoutUri: "" },
    client,
  );
  const [lines, linesField] = useDraft({
    redirectUris: textOf(client?.redirectUris),
    postLogoutRedirectUris: textOf(client?.postLogoutRedirectUris),
    scopes: textOf(client?.scopes),
  });
  const [thirdParty, setThirdParty] = useState(client?.thirdParty ?? false);
  const write = useWrite(client);
  const grantTypes = client?.grantTypes ?? SETTINGS[kind].grantTypes;
  const [isOfPeople, isReturned] = [hasPeople(grantTypes), isReturnedTo(grantTypes)];
  return (
    <ServiceForm
      act={client === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const { confidential } = client ?? SETTINGS[kind];
        const name = draft.name.trim();
        // Chosen here: a request that is sent again after a lost answer gets no secret of the platform's choice.
        const made = client === undefined && confidential ? { clientSecret: newSecret() } : {};
        const clientId = draft.clientId.trim();
        const written = await write({
          key: "clientId",
          get: () => getClient(clientId, operations),
          typed: {
            ...made,
            confidential,
            grantTypes: [...grantTypes],
            tenant: draft.tenant.trim(),
            ...(name !== "" && { name }),
            displayName: draft.displayName,
            redirectUris: linesOf(lines.redirectUris),
            postLogoutRedirectUris: linesOf(lines.postLogoutRedirectUris),
            scopes: linesOf(lines.scopes),
            ...(isOfPeople && { backchannelLogoutUri: draft.backchannelLogoutUri.trim(), thirdParty }),
          },
          kept: bodyOf,
          put: (body, under) => answer(putClient(clientId, body, under)),
        });
        await done({ ...written, ...made });
      }}
    >
      {client === undefined && (
        <>
          <TextField {...field("clientId")} label={words.clientId} help={words.clientIdHelp} isRequired />
          <TextField {...field("tenant")} label={words.tenant} isRequired />
        </>
      )}
      <TextField {...field("name")} label={words.owner} help={words.ownerHelp} />
      <TextField {...field("displayName")} label={words.displayName} />
      {isReturned && (
        <TextField
          {...linesField("redirectUris")}
          label={words.redirectUris}
          help={words.redirectHelp}
          isMultiline
          isRequired
        />
      )}
      {isOfPeople && (
        <>
          <TextField {...linesField("postLogoutRedirectUris")} label={words.postLogoutUris} isMultiline />
          <TextField
            {...field("backchannelLogoutUri")}
            label={words.backchannelLogoutUri}
            help={words.backchannelLogoutHelp}
          />
        </>
      )}
      <TextField {...linesField("scopes")} label={words.scopes} help={words.scopesHelp} isMultiline />
      {isOfPeople && (
        <CheckField name="thirdParty" isSelected={thirdParty} onChange={setThirdParty}>
          {words.thirdParty}
        </CheckField>
      )}
    </ServiceForm>
  );
}

/** 32 random bytes, in hexadecimal digits. */
const newSecret = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0")).join("");
