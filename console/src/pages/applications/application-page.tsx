import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import {
  deleteClient,
  getClient,
  makeClientSecret,
  putClient,
  revokeClient,
  type Client,
  type NewClientSecret,
} from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { BrandCard } from "../../components/brand-card.tsx";
import { LinkButton, TextLink } from "../../components/button.tsx";
import { CodeLines } from "../../components/lists/code-lines.tsx";
import { Card, Facts } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { SecretOnce } from "../../components/forms/secret-once.tsx";
import { DeleteRecord } from "../../components/records/delete-record.tsx";
import { RecordPage } from "../../components/records/record-page.tsx";
import { recordHref, useRefresh } from "../../components/records/records.ts";
import { StateBadge } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { ApplicationForm } from "./application-form.tsx";
import { bodyOf, kindOf } from "./kinds.ts";
import { CodeOf } from "./new-application-page.tsx";

/** One application: its settings, its code, a new secret. */
export function Page() {
  const { applications: words, common } = useWords();
  const { clientId } = useParams({ from: "/inside/applications/$clientId" });
  const { rights } = usePerson();
  const format = useFormats();
  const refresh = useRefresh("applications");
  const [fresh, setFresh] = useState<NewClientSecret>();
  const mayChange = rights.write || rights.tenantsOnly;
  return (
    <RecordPage<Client>
      kind="applications"
      id={clientId}
      listTitle={words.title}
      ask={() => getClient(clientId, operations)}
      nameOf={({ displayName }) => displayName || clientId}
      links={
        rights.read && <LinkButton href={`/explain?client=${encodeURIComponent(clientId)}`}>{words.explain}</LinkButton>
      }
      mayEdit={mayChange}
      form={(one, close, done) => (
        <ApplicationForm
          client={one}
          kind={kindOf(one)}
          cancel={close}
          done={async () => {
            say.done(common.saved(clientId));
            await done();
          }}
        />
      )}
    >
      {(one) => (
        <>
          {fresh !== undefined && (
            <>
              <SecretOnce secret={fresh.clientSecret} />
              <p className="muted">{words.rotated(format.moment(fresh.previousExpiresAt))}</p>
            </>
          )}
          <Settings client={one} />
          {kindOf(one) !== "machine" && (
            <BrandCard
              brand={one.brand}
              mayChange={mayChange}
              save={async (brand) => {
                await answer(putClient(clientId, { ...bodyOf(one), brand }, operations));
                await refresh();
              }}
            />
          )}
          <CodeOf client={one} />
          {mayChange && <Acts client={one} showSecret={setFresh} />}
        </>
      )}
    </RecordPage>
  );
}

function Settings({ client }: { readonly client: Client }) {
  const { applications: words, common } = useWords();
  const kind = words.kinds[kindOf(client)];
  return (
    <Card>
      <Facts
        facts={[
          [words.clientId, <code key="id">{client.clientId}</code>],
          [
            words.tenant,
            <TextLink key="tenant" href={recordHref("tenants", client.tenant)}>
              {client.tenant}
            </TextLink>,
          ],
          [words.kind, `${kind} · ${client.confidential ? words.confidential : words.publicClient}`],
          [common.state, <StateBadge key="state" disabled={client.disabled} />],
          [words.owner, <code key="name">{client.name}</code>],
          [words.grantTypes, client.grantTypes.join(", ")],
          ...(client.thirdParty ? [[words.asked, words.yes] as const] : []),
          ...(client.service === undefined ? [] : [[words.service, client.service] as const]),
          [words.redirectUris, <Lines key="redirects" lines={client.redirectUris} />],
          [words.scopes, <Lines key="scopes" lines={client.scopes} />],
        ]}
      />
    </Card>
  );
}

interface ActsProps {
  readonly client: Client;
  readonly showSecret: (secret: NewClientSecret) => void;
}

/** What an operator does with a whole application. */
function Acts({ client, showSecret }: ActsProps) {
  const { applications: words, common } = useWords();
  const refresh = useRefresh("applications");
  const { clientId, confidential, disabled } = client;
  return (
    <div className="buttons">
      {confidential && (
        <ActButton
          act={words.rotate}
          title={`${words.rotate}: ${clientId}`}
          onConfirm={async () => showSecret(await answer(makeClientSecret(clientId, operations)))}
        >
          {words.rotateText}
        </ActButton>
      )}
      <ActButton
        act={words.revoke}
        title={`${words.revoke}: ${clientId}`}
        isDangerous
        onConfirm={async () => {
          await answer(revokeClient(clientId, operations));
          say.done(words.revoked);
        }}
      >
        {words.revokeText}
      </ActButton>
      <ActButton
        act={disabled ? words.enable : words.disable}
        title={clientId}
        isDangerous={!disabled}
        onConfirm={async () => {
          await answer(putClient(clientId, { ...bodyOf(client), disabled: !disabled }, operations));
          say.done(common.saved(clientId));
          await refresh();
        }}
      >
        {words.disableText}
      </ActButton>
      <DeleteRecord kind="applications" id={clientId} name={clientId} remove={() => deleteClient(clientId, operations)}>
        {words.deleteText}
      </DeleteRecord>
    </div>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  const { common } = useWords();
  return lines.length === 0 ? <span className="muted">{common.none}</span> : <CodeLines lines={lines} />;
}
