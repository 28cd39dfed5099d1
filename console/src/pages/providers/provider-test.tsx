import { useQuery } from "@tanstack/react-query";
import { Check, CircleHelp, X } from "lucide-react";
import { testIdentityProvider } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CodeBlock } from "../../components/copy.tsx";
import { Panel } from "../../components/panel.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { configNow, PLATFORM_URL } from "../../session/config.ts";
import { useWords } from "../../words/words.ts";

const ICONS = { passed: Check, failed: X, unclear: CircleHelp } as const;

/** The result of a test, in which the platform asks the provider as a sign-in would; with a link to sign in by it. */
export function ProviderTest({ id, close }: { readonly id: string; readonly close: () => void }) {
  const { providers: words } = useWords();
  const query = useQuery({
    queryKey: ["providers", id, "test"],
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: () => answer(testIdentityProvider(id, operations)),
  });
  const address = `${PLATFORM_URL}/account?${configNow().platform}_id_provider=${encodeURIComponent(id)}`;
  return (
    <Panel title={`${words.test}: ${id}`} isOpen close={close}>
      <Fetched query={query}>
        {({ works, checks }) => (
          <>
            <p role="status">
              <strong>{works ? words.works : words.worksNot}</strong>
            </p>
            <ol className="decision">
              {checks.map(({ check, result, detail }) => {
                const Icon = ICONS[result];
                return (
                  <li key={check} className={result === "failed" ? "no" : ""}>
                    <i>
                      <Icon aria-hidden />
                      <span className="hidden">{words.results[result]}</span>
                    </i>
                    <div>
                      <strong>{words.checks[check]}</strong>
                      <p>{detail}</p>
                    </div>
                  </li>
                );
              })}
            </ol>
            <p className="muted">{words.testFurther}</p>
            <CodeBlock label={words.testAddress} code={address} />
          </>
        )}
      </Fetched>
    </Panel>
  );
}
