import { useSearch } from "@tanstack/react-router";
import { CircleAlert } from "lucide-react";
import { useEffect, useState } from "react";
import { Input, Label, Text, TextField } from "react-aria-components";
import { Preferences } from "../../app/preferences.tsx";
import { Button } from "../../components/button.tsx";
import { lastOrganization, signIn } from "../../session/session.ts";
import { useWhyNot } from "../../session/use-sign-in-again.ts";
import { useWords } from "../../words/words.ts";

/** The page without a session: one button to the platform's own sign-in page. */
export function SignInPage() {
  const { session: words, common } = useWords();
  const { returnTo = "/", error, detail } = useSearch({ from: "/sign-in" });
  const [organization, setOrganization] = useState(lastOrganization);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string>();
  const whyNot = useWhyNot();
  useEffect(() => {
    document.title = common.page(words.title);
  }, [common, words]);

  function go(): void {
    setBusy(true);
    signIn(returnTo, organization.trim() || "operators").catch(() => {
      setBusy(false);
      setFailure(whyNot("unreachable"));
    });
  }

  const refusal = failure ?? (error === undefined ? undefined : whyNot(error, detail));
  return (
    <div className="door">
      <main>
        <p className="brand">
          <svg viewBox="0 0 24 24" aria-hidden>
            <path fill="currentColor" d="M4 3h16v4h-3v10h4v4H3v-4h4V7H4z" />
          </svg>
          Plinth
        </p>
        <h1>{words.title}</h1>
        <p className="lead">{words.lead}</p>
        {refusal !== undefined && (
          <div className="form-alert" role="alert">
            <CircleAlert aria-hidden />
            <div>
              <strong>{words.failedTitle}</strong>
              <p>{refusal}</p>
            </div>
          </div>
        )}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            go();
          }}
        >
          <TextField className="field" value={organization} onChange={setOrganization} autoComplete="organization">
            <Label>{words.organization}</Label>
            <Input />
            <Text slot="description" className="help">
              {words.organizationHelp}
            </Text>
          </TextField>
          <Button type="submit" className="primary big" isPending={isBusy}>
            {isBusy ? words.signingIn : words.button}
          </Button>
        </form>
      </main>
      <footer>
        <Preferences />
      </footer>
    </div>
  );
}
