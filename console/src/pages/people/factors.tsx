import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Smartphone } from "lucide-react";
import {
  listUserPasskeys,
  removeUserPasskey,
  removeUserSecondFactor,
  type Passkey,
  type User,
} from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { Fetched } from "../../components/fetched.tsx";
import { Card } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { OwnedRow } from "./owned-row.tsx";

/** The person's second factors and passkeys. An operator can remove lost ones. */
export function Factors({ user }: { readonly user: User }) {
  const { people: words } = useWords();
  const queries = useQueryClient();
  const { email, secondFactorAt } = user;
  const key = ["passkeys", email];
  const passkeys = useQuery({ queryKey: key, queryFn: () => answer(listUserPasskeys(email, operations)) });
  const removed = async (what: string, query: readonly string[]): Promise<void> => {
    say.done(words.factorRemoved(what));
    await queries.invalidateQueries({ queryKey: query });
  };
  return (
    <Card title={words.factors}>
      <Fetched query={passkeys}>
        {(all) =>
          all.length === 0 && secondFactorAt === undefined ? (
            <p className="muted">{words.noFactors}</p>
          ) : (
            <ul className="rows">
              {secondFactorAt !== undefined && (
                <App user={user} sinceMs={secondFactorAt} removed={() => removed(words.app, ["people"])} />
              )}
              {all.map((one) => (
                <OnePasskey key={one.id} email={email} passkey={one} removed={() => removed(one.name, key)} />
              ))}
            </ul>
          )
        }
      </Fetched>
    </Card>
  );
}

interface AppProps {
  readonly user: User;
  readonly sinceMs: number;
  readonly removed: () => Promise<void>;
}

function App({ user: { email }, sinceMs, removed }: AppProps) {
  const { people: words } = useWords();
  const format = useFormats();
  return (
    <OwnedRow
      icon={Smartphone}
      name={words.app}
      facts={[words.since(format.moment(sinceMs))]}
      act={words.removeFactor}
      question={words.removeApp(email)}
      take={() => removeUserSecondFactor(email, operations)}
      taken={removed}
    >
      {words.removeAppText}
    </OwnedRow>
  );
}

interface OnePasskeyProps {
  readonly email: string;
  readonly passkey: Passkey;
  readonly removed: () => Promise<void>;
}

function OnePasskey({ email, passkey: { id, name, createdAt, lastUsedAt, backedUp }, removed }: OnePasskeyProps) {
  const { people: words } = useWords();
  const format = useFormats();
  const facts = [
    words.passkeySince(format.day(createdAt)),
    lastUsedAt === null ? words.neverUsed : words.lastUsed(format.moment(lastUsedAt)),
    ...(backedUp ? [words.backedUp] : []),
  ];
  return (
    <OwnedRow
      icon={KeyRound}
      name={name}
      facts={facts}
      act={words.removeFactor}
      question={words.removePasskey(name, email)}
      take={() => removeUserPasskey(email, id, operations)}
      taken={removed}
    >
      {words.removePasskeyText}
    </OwnedRow>
  );
}
