import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import {
  deleteLinkedIdentity,
  deleteUser,
  getUser,
  listLinkedIdentities,
  putUser,
  revokeUser,
  unlockUser,
  type LinkedIdentity,
  type User,
} from "../../../../api/plinth.ts";
import { answer, gone, operations, whole } from "../../api/client.ts";
import { rewrite } from "../../api/rewrite.ts";
import { useList } from "../../api/lists.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { Rows } from "../../components/lists/rows.tsx";
import { Card, Facts } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { DeleteRecord, DisableRecord, EndTokens } from "../../components/records/record-acts.tsx";
import { RecordPage } from "../../components/records/record-page.tsx";
import { StateBadge } from "../../components/records/state-badge.tsx";
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
  const format = useFormats();
  return (
    <RecordPage<User>
      kind="people"
      id={email}
      ask={getUser}
      nameOf={({ name }) => name}
      lead={({ name }) => (name === email ? undefined : email)}
      form={PersonForm}
      acts={(one) => <Acts user={one} />}
    >
      {(one) => (
        <>
          <Card>
            <Facts
              facts={[
                [words.email, one.email],
                [words.locale, one.locale === "" ? words.none : format.language(one.locale)],
                [words.picture, one.picture === "" ? words.none : <Outside key="picture" address={one.picture} />],
                [words.hasPassword, one.hasPassword ? common.yes : common.no],
                [common.state, <StateBadge key="state" disabled={one.disabled} />],
                [common.created, format.moment(one.createdAt)],
              ]}
            />
          </Card>
          <Sessions email={email} />
          <Factors user={one} />
          <Identities email={email} />
        </>
      )}
    </RecordPage>
  );
}

/** What an operator does with a whole account. */
function Acts({ user: { email, disabled } }: { readonly user: User }) {
  const { people: words } = useWords();
  const queries = useQueryClient();
  const unlock = async () => {
    await answer(unlockUser(email, operations));
    say.done(words.unlocked);
  };
  const readSessions = () => queries.invalidateQueries({ queryKey: ["sessions", email] });
  const write = (next: boolean) =>
    rewrite(
      () => whole(getUser(email, operations)),
      ({ name }, under) => answer(putUser(email, { name, disabled: next }, under)),
    );
  return (
    <>
      <ActButton act={words.unlock} title={`${words.unlock}: ${email}`} onConfirm={unlock}>
        {words.unlockText}
      </ActButton>
      <EndTokens kind="people" id={email} revoke={revokeUser} after={readSessions} />
      <DisableRecord kind="people" name={email} disabled={disabled} write={write} />
      <DeleteRecord kind="people" id={email} remove={deleteUser} />
    </>
  );
}

/**
 * Shows the address of a picture as text. The picture is on a foreign host, which the policy of these pages forbids.
 */
function Outside({ address }: { readonly address: string }) {
  return (
    <a className="link" href={address} target="_blank" rel="noreferrer">
      {address}
    </a>
  );
}

function Identities({ email }: { readonly email: string }) {
  const { people: words, common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const key = ["identities", email];
  const list = useList<LinkedIdentity>(key, (page, options) => listLinkedIdentities(email, page, options));
  return (
    <Card title={words.identities}>
      <Rows list={list} empty={words.noIdentities} idOf={({ provider }) => provider}>
        {({ provider, subject }) => (
          <>
            <div>
              <strong>{provider}</strong> <code className="muted">{subject}</code>
            </div>
            {rights.write && (
              <ActButton
                act={words.unlink}
                label={`${words.unlink}: ${provider}`}
                title={common.deleteTitle(provider)}
                isDangerous
                onConfirm={async () => {
                  await gone(deleteLinkedIdentity(email, provider, operations));
                  await queries.invalidateQueries({ queryKey: key });
                }}
              >
                {words.unlinkText}
              </ActButton>
            )}
          </>
        )}
      </Rows>
    </Card>
  );
}
