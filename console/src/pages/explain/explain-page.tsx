import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Check, CircleCheck, CircleX, X } from "lucide-react";
import { useState } from "react";
import { explain, type Explanation } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { CodeLines } from "../../components/lists/code-lines.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { TextField } from "../../components/forms/form.tsx";
import { Card, Page as Frame } from "../../components/page.tsx";
import { Badge } from "../../components/states.tsx";
import { useWords } from "../../words/words.ts";

const FIELDS = ["client", "user", "tenant", "scope"] as const;
type Question = Partial<Record<(typeof FIELDS)[number], string>>;

/** The decision about a token as a picture: each check in its order, and the one that decided. */
export function Page() {
  const { explain: words } = useWords();
  const asked: Question = useSearch({ from: "/inside/explain" });
  const navigate = useNavigate({ from: "/explain" });
  const [question, setQuestion] = useState<Question>(asked);
  const [seen, see] = useState(asked);
  // The address was changed by something else, such as the back button.
  if (seen !== asked) {
    see(asked);
    setQuestion(asked);
  }
  const isAsked = asked.client !== undefined || asked.user !== undefined;
  const query = useQuery({
    queryKey: ["explain", asked],
    enabled: isAsked,
    staleTime: 0,
    queryFn: () => answer(explain(asked, operations)),
  });
  return (
    <Frame title={words.title} lead={words.lead}>
      <Card>
        <form
          className="filters"
          onSubmit={(event) => {
            event.preventDefault();
            const filled = Object.entries(question).filter(([, value]) => value.trim() !== "");
            void navigate({ search: Object.fromEntries(filled) });
          }}
        >
          {FIELDS.map((field) => (
            <TextField
              key={field}
              name={field}
              label={words[field]}
              value={question[field] ?? ""}
              onChange={(value) => setQuestion((old) => ({ ...old, [field]: value }))}
              isFilter
            />
          ))}
          <Button type="submit" className="primary">
            {words.ask}
          </Button>
        </form>
      </Card>
      {isAsked ? (
        <Fetched query={query}>{(explanation) => <Decision explanation={explanation} />}</Fetched>
      ) : (
        <p className="muted">{words.begin}</p>
      )}
    </Frame>
  );
}

function Decision({ explanation }: { readonly explanation: Explanation }) {
  const { explain: words } = useWords();
  const { granted, reason, checks, scopes, effective } = explanation;
  return (
    <>
      <Card>
        <div className={`verdict ${granted ? "good" : "bad"}`} role="status">
          {granted ? <CircleCheck aria-hidden /> : <CircleX aria-hidden />}
          <div>
            <h2>{granted ? words.granted : words.refused}</h2>
            <p>{reason}</p>
          </div>
        </div>
        <ol className="decision">
          {checks.map(({ check, scope, passed, detail }, at) => (
            <li key={at} className={passed ? "" : "no"}>
              <i>
                {passed ? <Check aria-hidden /> : <X aria-hidden />}
                <span className="hidden">{passed ? words.passed : words.failed}</span>
              </i>
              <div>
                <strong>{words.checks[check]}</strong> {scope !== undefined && <code>{scope}</code>}
                <p>{detail}</p>
              </div>
            </li>
          ))}
        </ol>
      </Card>
      <div className="grid">
        <Card title={words.effective}>
          {effective.length === 0 ? <p className="muted">{words.noScopes}</p> : <CodeLines lines={effective} />}
        </Card>
        {scopes.length > 0 && (
          <Card title={words.eachAlone}>
            <ul className="rows">
              {scopes.map(({ scope, granted: isGranted, reason: why }) => (
                <li key={scope}>
                  <div>
                    <code>{scope}</code>
                    <p className="muted">{why}</p>
                  </div>
                  <Badge kind={isGranted ? "good" : "bad"}>{isGranted ? words.passed : words.failed}</Badge>
                </li>
              ))}
            </ul>
          </Card>
        )}
      </div>
    </>
  );
}
