import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
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
import { Button, LinkButton, TextLink } from "../../components/button.tsx";
import { Panel } from "../../components/dialogs.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { SecretOnce } from "../../components/forms/secret-once.tsx";
import { Badge } from "../../components/states.tsx";
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
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isEditing, edit] = useState(false);
  const [fresh, setFresh] = useState<NewClientSecret>();
  const query = useQuery({
    queryKey: ["applications", clientId],
    queryFn: () => answer(getClient(clientId, operations)),
  });
  const refresh = () => queries.invalidateQueries({ queryKey: ["applications"] });
  const mayChange = rights.write || rights.tenantsOnly;

  async function setDisabled(client: Client, disabled: boolean): Promise<void> {
    await answer(putClient(clientId, { ...bodyOf(client), disabled }, operations));
    say.done(common.saved(clientId));
    await refresh();
  }

  return (
    <Frame
      title={query.data?.displayName || clientId}
      parent={{ href: "/applications", title: words.title }}
      actions={
        query.data !== undefined && (
          <>
            {rights.read && (
              <LinkButton href={`/explain?client=${encodeURIComponent(clientId)}`}>{words.explain}</LinkButton>
            )}
            {mayChange && <Button onPress={() => edit(true)}>{common.edit}</Button>}
          </>
        )
      }
    >
      <Fetched query={query}>
        {(one) => (
          <>
            {fresh !== undefined && (
              <>
                <SecretOnce secret={fresh.clientSecret} />
                <p className="muted">{words.rotated(format.moment(fresh.previousExpiresAt))}</p>
              </>
            )}
            <Card>
              <Facts
                facts={[
                  [words.clientId, <code key="id">{one.clientId}</code>],
                  [
                    words.tenant,
                    <TextLink key="tenant" href={`/tenants/${one.tenant}`}>
                      {one.tenant}
                    </TextLink>,
                  ],
                  [
                    words.kind,
                    `${words.kinds[kindOf(one)]} · ${one.confidential ? words.confidential : words.publicClient}`,
                  ],
                  [
                    common.state,
                    <Badge key="state" kind={one.disabled ? "bad" : "good"}>
                      {one.disabled ? common.disabled : common.active}
                    </Badge>,
                  ],
                  [words.owner, <code key="name">{one.name}</code>],
                  [words.grantTypes, one.grantTypes.join(", ")],
                  ...(one.thirdParty ? [[words.asked, words.yes] as const] : []),
                  ...(one.service === undefined ? [] : [[words.service, one.service] as const]),
                  [words.redirectUris, <Lines key="redirects" lines={one.redirectUris} />],
                  [words.scopes, <Lines key="scopes" lines={one.scopes} />],
                ]}
              />
            </Card>
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
            {mayChange && (
              <div className="buttons">
                {one.confidential && (
                  <ActButton
                    act={words.rotate}
                    title={`${words.rotate}: ${clientId}`}
                    onConfirm={async () => setFresh(await answer(makeClientSecret(clientId, operations)))}
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
                  act={one.disabled ? words.enable : words.disable}
                  title={clientId}
                  isDangerous={!one.disabled}
                  onConfirm={() => setDisabled(one, !one.disabled)}
                >
                  {words.disableText}
                </ActButton>
                <ActButton
                  act={common.remove}
                  title={common.deleteTitle(clientId)}
                  isDangerous
                  onConfirm={async () => {
                    await answer(deleteClient(clientId, operations));
                    say.done(common.deleted(clientId));
                    queries.removeQueries({ queryKey: ["applications", clientId] });
                    await navigate({ to: "/applications" });
                    await refresh();
                  }}
                >
                  {words.deleteText}
                </ActButton>
              </div>
            )}
            <Panel title={clientId} isOpen={isEditing} close={() => edit(false)}>
              <ApplicationForm
                client={one}
                kind={kindOf(one)}
                cancel={() => edit(false)}
                done={async () => {
                  edit(false);
                  say.done(common.saved(clientId));
                  await refresh();
                }}
              />
            </Panel>
          </>
        )}
      </Fetched>
    </Frame>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  const { common } = useWords();
  if (lines.length === 0) return <span className="muted">{common.none}</span>;
  return (
    <ul className="lines">
      {lines.map((line) => (
        <li key={line}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}
