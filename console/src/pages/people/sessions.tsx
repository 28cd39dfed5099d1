import { useQuery, useQueryClient } from "@tanstack/react-query";
import { MonitorSmartphone } from "lucide-react";
import { listUserSessions, revokeSession, type UserSession } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { Fetched } from "../../components/fetched.tsx";
import { Card } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { OwnedRow } from "./owned-row.tsx";

/** The browsers in which the person is signed in. An operator can end a session, with its tokens. */
export function Sessions({ email }: { readonly email: string }) {
  const { people: words } = useWords();
  const queries = useQueryClient();
  const key = ["sessions", email];
  const sessions = useQuery({ queryKey: key, queryFn: () => answer(listUserSessions(email, operations)) });
  return (
    <Card title={words.sessions}>
      <Fetched query={sessions}>
        {(all) =>
          all.length === 0 ? (
            <p className="muted">{words.noSessions}</p>
          ) : (
            <ul className="rows">
              {all.map((one) => (
                <OneSession
                  key={one.sessionId}
                  session={one}
                  ended={async () => {
                    say.done(words.sessionEnded);
                    await queries.invalidateQueries({ queryKey: key });
                  }}
                />
              ))}
            </ul>
          )
        }
      </Fetched>
    </Card>
  );
}

interface OneSessionProps {
  readonly session: UserSession;
  readonly ended: () => Promise<void>;
}

function OneSession({ session, ended }: OneSessionProps) {
  const { people: words } = useWords();
  const format = useFormats();
  const { sessionId, provider, browser, system, city, country, signedInAt, lastUsedAt } = session;
  const name = [browser, system].filter(Boolean).join(" · ") || words.unknownBrowser;
  const facts = [
    [city, country === "" ? "" : format.country(country)].filter(Boolean).join(", "),
    words.signedIn(format.moment(signedInAt)),
    words.lastUsed(format.moment(lastUsedAt)),
    provider === "default_idp" ? "" : words.byProvider(provider),
  ];
  return (
    <OwnedRow
      icon={MonitorSmartphone}
      name={name}
      facts={facts}
      act={words.endSession}
      question={words.endSessionOf(name)}
      take={() => revokeSession(sessionId, operations)}
      taken={ended}
    >
      {words.endSessionText}
    </OwnedRow>
  );
}
