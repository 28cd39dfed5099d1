import { useQuery, useQueryClient } from "@tanstack/react-query";
import { listSigningKeys, rotateSigningKeys } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { Badge, Empty } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";

const KINDS = { published: "plain", signs: "good", verifies: "plain", gone: "bad" } as const;

/** The keys that sign tokens: shows which one signs, and makes a new one at once. */
export function Page() {
  const { keys: words, common } = useWords();
  const format = useFormats();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const keys = useQuery({
    queryKey: ["keys"],
    queryFn: () => answer(listSigningKeys({ pageSize: 100 }, operations)),
  });
  async function rotate(leaked: boolean): Promise<void> {
    await answer(rotateSigningKeys({ leaked }, operations));
    say.done(words.rotated);
    await queries.invalidateQueries({ queryKey: ["keys"] });
  }
  const acts = rights.write && (
    <>
      <ActButton act={words.rotate} title={`${words.rotate}?`} onConfirm={() => rotate(false)}>
        {words.rotateText}
      </ActButton>
      <ActButton act={words.leaked} title={`${words.leaked}?`} isDangerous onConfirm={() => rotate(true)}>
        {words.leakedText}
      </ActButton>
    </>
  );
  return (
    <Frame title={words.title} lead={words.lead} actions={acts}>
      <Fetched query={keys}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={words.empty} />
          ) : (
            <div className="card scroll-x" tabIndex={0} role="region" aria-label={words.title}>
              <table className="plain-table">
                <thead>
                  <tr>
                    <th>{words.kid}</th>
                    <th>{words.algorithm}</th>
                    <th>{common.state}</th>
                    <th>{words.signsFrom}</th>
                    <th>{words.until}</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map(({ kid, alg, state, signsFrom, publishedUntil }) => (
                    <tr key={kid}>
                      <td>
                        <code>{kid}</code>
                      </td>
                      <td>{alg}</td>
                      <td>
                        <Badge kind={KINDS[state]}>{words.states[state]}</Badge>
                      </td>
                      <td className="moment">{format.moment(signsFrom)}</td>
                      <td className="moment">{publishedUntil === null ? "–" : format.moment(publishedUntil)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Fetched>
    </Frame>
  );
}
