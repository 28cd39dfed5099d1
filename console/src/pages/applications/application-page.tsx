import { useParams } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import {
  deleteClient,
  getClient,
  makeClientSecret,
  putClient,
  revokeClient,
  type Client,
} from "../../../../api/plinth.ts";
import { answer, operations, whole } from "../../api/client.ts";
import { rewrite } from "../../api/rewrite.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { BrandCard } from "../../components/brand-card.tsx";
import { LinkButton, TextLink } from "../../components/button.tsx";
import { CodeLines } from "../../components/lists/code-lines.tsx";
import { Card, Facts } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { SecretOnce } from "../../components/forms/secret-once.tsx";
import { DeleteRecord, DisableRecord, EndTokens } from "../../components/records/record-acts.tsx";
import { RecordPage } from "../../components/records/record-page.tsx";
import {
  recordHref,
  useIsHere,
  useMayEdit,
  useRefresh,
  type RecordFormProps,
} from "../../components/records/records.ts";
import { StateBadge } from "../../components/records/state-badge.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { ApplicationForm } from "./application-form.tsx";
import { bodyOf, kindOf } from "./kinds.ts";
import { CodeOf } from "./new-application-page.tsx";
import { forgetSecret, keepSecret, useUnseenSecret, type Secret } from "./secrets.ts";

/** One application: its settings, its code, a new secret. */
export function Page() {
  const { applications: words } = useWords();
  const { clientId } = useParams({ from: "/inside/applications/$clientId" });
  const { rights } = usePerson();
  const format = useFormats();
  const refresh = useRefresh("applications");
  const [fresh, setFresh] = useState<Secret>();
  const unseen = useUnseenSecret(clientId);
  useEffect(() => {
    if (unseen === undefined) return;
    setFresh(unseen);
    forgetSecret(clientId);
  }, [unseen, clientId]);
  const mayChange = useMayEdit("applications");
  return (
    <RecordPage<Client>
      kind="applications"
      id={clientId}
      ask={getClient}
      nameOf={({ displayName }) => displayName || clientId}
      links={
        rights.read && <LinkButton href={`/explain?client=${encodeURIComponent(clientId)}`}>{words.explain}</LinkButton>
      }
      form={EditForm}
      acts={(one) => <Acts client={one} showSecret={setFresh} />}
    >
      {(one) => (
        <>
          {fresh !== undefined && (
            <>
              <SecretOnce secret={fresh.clientSecret} />
              {fresh.previousExpiresAt !== undefined && (
                <p className="muted">{words.rotated(format.moment(fresh.previousExpiresAt))}</p>
              )}
            </>
          )}
          <Settings client={one} />
          {kindOf(one) !== "machine" && (
            <BrandCard
              brand={one.brand}
              mayChange={mayChange}
              change={async (next) => {
                await change(clientId, (now) => ({ brand: next(now.brand) }));
                await refresh();
              }}
            />
          )}
          <CodeOf client={one} />
        </>
      )}
    </RecordPage>
  );
}

type Changed = Partial<Pick<Client, "brand" | "disabled">>;

/** Changes fields of an application. */
const change = (clientId: string, fields: (now: Client) => Changed) =>
  rewrite(
    () => whole(getClient(clientId, operations)),
    (now, under) => answer(putClient(clientId, { ...bodyOf(now), ...fields(now) }, under)),
  );

function EditForm({ record: client, cancel, done }: RecordFormProps<Client>) {
  const { common } = useWords();
  return (
    <ApplicationForm
      {...(client !== undefined && { client })}
      kind={client === undefined ? "browser" : kindOf(client)}
      cancel={cancel}
      done={async ({ clientId }) => {
        say.done(common.saved(clientId));
        await done(clientId);
      }}
    />
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
  readonly showSecret: (secret: Secret) => void;
}

/** What an operator does with a whole application. */
function Acts({ client, showSecret }: ActsProps) {
  const { applications: words } = useWords();
  const { clientId, confidential, disabled } = client;
  const isHere = useIsHere();
  async function rotate(): Promise<void> {
    const secret = await answer(makeClientSecret(clientId, operations));
    if (isHere.current) return showSecret(secret);
    keepSecret(clientId, secret);
    say.lasting(words.secretWaits(clientId));
  }
  const write = (next: boolean) => change(clientId, () => ({ disabled: next }));
  return (
    <>
      {confidential && (
        <ActButton act={words.rotate} title={`${words.rotate}: ${clientId}`} onConfirm={rotate}>
          {words.rotateText}
        </ActButton>
      )}
      <EndTokens kind="applications" id={clientId} revoke={revokeClient} />
      <DisableRecord kind="applications" name={clientId} disabled={disabled} write={write} />
      <DeleteRecord kind="applications" id={clientId} remove={deleteClient} />
    </>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  const { common } = useWords();
  return lines.length === 0 ? <span className="muted">{common.none}</span> : <CodeLines lines={lines} />;
}
