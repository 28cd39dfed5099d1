import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Label, Radio, RadioGroup } from "react-aria-components";
import type { WrittenClient } from "../../../../api/plinth.ts";
import { Button, LinkButton } from "../../components/button.tsx";
import { CodeBlock } from "../../components/copy.tsx";
import { Card, Page as Frame } from "../../components/page.tsx";
import { SecretOnce } from "../../components/forms/secret-once.tsx";
import { useIsHere } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { configNow, PLATFORM_URL } from "../../session/config.ts";
import { useWords } from "../../words/words.ts";
import { ApplicationForm } from "./application-form.tsx";
import { keepSecret } from "./secrets.ts";
import { codeFor, KINDS, kindOf, type Kind } from "./kinds.ts";

type Step = "kind" | "settings" | "code";
const STEPS: readonly Step[] = ["kind", "settings", "code"];

/** A wizard: the kind, the settings, and working code. At its end it shows the secret, only this once. */
export function Page() {
  const { applications: words } = useWords();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [step, setStep] = useState<Step>("kind");
  const [kind, setKind] = useState<Kind>("browser");
  const [made, setMade] = useState<WrittenClient>();
  const isHere = useIsHere();
  // In braces: what newer browsers return would count as a cleanup.
  useEffect(() => {
    scrollTo(0, 0);
  }, [step]);
  return (
    // Each step begins at its heading, as a page does: the button of the step before is gone.
    <Frame
      key={step}
      title={made === undefined ? words.make : words.codeTitle}
      lead={made === undefined ? undefined : words.codeText}
      parent={{ href: "/applications", title: words.title }}
    >
      <ol className="steps">
        {STEPS.map((one, at) => (
          <li key={one} aria-current={one === step ? "step" : undefined}>
            <span className="hidden">{words.step(String(at + 1), String(STEPS.length))}</span>
            <i aria-hidden>{at + 1}</i>
            {words.steps[one]}
          </li>
        ))}
      </ol>
      {step === "kind" && (
        <Card>
          <RadioGroup className="choices" value={kind} onChange={(value) => setKind(value as Kind)}>
            <Label className="hidden">{words.kind}</Label>
            {KINDS.map((one) => (
              <Radio key={one} value={one}>
                <strong>{words.kinds[one]}</strong>
                <span>{words.kindTexts[one]}</span>
              </Radio>
            ))}
          </RadioGroup>
          <div className="buttons">
            <Next onPress={() => setStep("settings")} />
          </div>
        </Card>
      )}
      {step === "settings" && (
        <Card>
          <ApplicationForm
            kind={kind}
            cancel={() => setStep("kind")}
            done={(written) => {
              void queries.invalidateQueries({ queryKey: ["applications"] });
              const { clientId, clientSecret } = written;
              if (!isHere.current && clientSecret !== undefined) {
                keepSecret(clientId, { clientSecret });
                say.lasting(words.secretWaits(clientId));
              }
              setMade(written);
              setStep("code");
            }}
          />
        </Card>
      )}
      {step === "code" && made !== undefined && (
        <>
          {made.clientSecret !== undefined && <SecretOnce secret={made.clientSecret} />}
          <CodeOf client={made} />
          <div className="buttons">
            <Button
              className="primary"
              onPress={() =>
                void navigate({ to: "/applications/$clientId", params: { clientId: made.clientId }, replace: true })
              }
            >
              {words.done}
            </Button>
            <LinkButton href="/applications">{words.title}</LinkButton>
          </div>
        </>
      )}
    </Frame>
  );
}

function Next({ onPress }: { readonly onPress: () => void }) {
  const { common } = useWords();
  return (
    <Button className="primary" onPress={onPress}>
      {common.next}
    </Button>
  );
}

export function CodeOf({
  client,
}: {
  readonly client: Pick<WrittenClient, "clientId" | "confidential" | "grantTypes" | "redirectUris" | "scopes">;
}) {
  const { applications: words } = useWords();
  const kind = kindOf(client);
  const code = codeFor[kind]({
    url: PLATFORM_URL,
    platform: configNow().platform,
    clientId: client.clientId,
    redirectUri: client.redirectUris[0] ?? "",
    scopes: client.scopes,
  });
  return <CodeBlock label={`TypeScript · ${words.kinds[kind]}`} code={code} />;
}
