import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import {
  deleteLinkedIdentity,
  deleteUser,
  getUser,
  listLinkedIdentities,
  putUser,
  revokeUser,
  unlockUser,
  type LinkedIdentity,
} from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { Button } from "../../components/button.tsx";
import { Panel } from "../../components/dialogs.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { Badge } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { Factors } from "./factors.tsx";
import { PersonForm } from "./person-form.tsx";
import { Sessions } from "./sessions.tsx";

/** One account: whether it can sign in, and the actions of an operator. */
export function Page() {
  const { people: words, common } = useWords();
  const { email } = useParams({ from: "/inside/people/$email" });
  const { rights } = usePerson();
  const format = useFormats();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isEditing, edit] = useState(false);
  const query = useQuery({ queryKey: ["people", email], queryFn: () => answer(getUser(email, operations)) });
  const refresh = () => queries.invalidateQueries({ queryKey: ["people"] });
  return (
    <Frame
      title={query.data?.name ?? email}
      lead={query.data !== undefined && query.data.name !== email ? email : undefined}
      parent={{ href: "/people", title: words.title }}
      actions={rights.write && query.data !== undefined && <Button onPress={() => edit(true)}>{common.edit}</Button>}
    >
      <Fetched query={query}>
        {(one) => (
          <>
            <Card>
              <Facts
                facts={[
                  [words.email, one.email],
                  [words.locale, one.locale === "" ? words.none : format.language(one.locale)],
                  [words.picture, one.picture === "" ? words.none : <Outside key="picture" address={one.picture} />],
                  [words.hasPassword, one.hasPassword ? common.yes : common.no],
                  [
                    common.state,
                    <Badge key="state" kind={one.disabled ? "bad" : "good"}>
                      {one.disabled ? common.disabled : common.active}
                    </Badge>,
                  ],
                  [common.created, format.moment(one.createdAt)],
                ]}
              />
            </Card>
            <Sessions email={email} />
            <Factors user={one} />
            <Identities email={email} />
            {rights.write && (
              <div className="buttons">
                <ActButton
                  act={words.unlock}
                  title={`${words.unlock}: ${email}`}
                  onConfirm={async () => {
                    await answer(unlockUser(email, operations));
                    say.done(words.unlocked);
                  }}
                >
                  {words.unlockText}
                </ActButton>
                <ActButton
                  act={words.revoke}
                  title={`${words.revoke}: ${email}`}
                  isDangerous
                  onConfirm={async () => {
                    await answer(revokeUser(email, operations));
                    say.done(words.revoked);
                    await queries.invalidateQueries({ queryKey: ["sessions", email] });
                  }}
                >
                  {words.revokeText}
                </ActButton>
                <ActButton
                  act={one.disabled ? words.enable : words.disable}
                  title={email}
                  isDangerous={!one.disabled}
                  onConfirm={async () => {
                    await answer(putUser(email, { name: one.name, disabled: !one.disabled }, operations));
                    say.done(common.saved(email));
                    await refresh();
                  }}
                >
                  {words.disableText}
                </ActButton>
                <ActButton
                  act={common.remove}
                  title={common.deleteTitle(email)}
                  isDangerous
                  onConfirm={async () => {
                    await answer(deleteUser(email, operations));
                    say.done(common.deleted(email));
                    queries.removeQueries({ queryKey: ["people", email] });
                    await navigate({ to: "/people" });
                    await refresh();
                  }}
                >
                  {words.deleteText}
                </ActButton>
              </div>
            )}
            <Panel title={email} isOpen={isEditing} close={() => edit(false)}>
              <PersonForm
                user={one}
                cancel={() => edit(false)}
                done={async () => {
                  edit(false);
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

/**
 * Shows the address of a picture as text. The picture is on a foreign host, which the policy of these pages forbids.
 */
function Outside({ address }: { readonly address: string }) {
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {address}
    </a>
  );
}

function Identities({ email }: { readonly email: string }) {
  const { people: words, common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const key = ["identities", email];
  const list = useList<LinkedIdentity>(key, (page) => listLinkedIdentities(email, page, operations));
  return (
    <Card title={words.identities}>
      {list.state === "there" && list.rows.length === 0 && <p className="muted">{words.noIdentities}</p>}
      <ul className="rows">
        {list.rows.map(({ provider, subject }) => (
          <li key={provider}>
            <div>
              <strong>{provider}</strong> <code className="muted">{subject}</code>
            </div>
            {rights.write && (
              <ActButton
                act={words.unlink}
                title={common.deleteTitle(provider)}
                isDangerous
                onConfirm={async () => {
                  await answer(deleteLinkedIdentity(email, provider, operations));
                  await queries.invalidateQueries({ queryKey: key });
                }}
              >
                {words.unlinkText}
              </ActButton>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}
