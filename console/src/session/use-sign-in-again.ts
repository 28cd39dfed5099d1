import { useState } from "react";
import { useWords } from "../words/words.ts";
import { SignInError } from "./oidc.ts";
import { signInAgain } from "./session.ts";

/** Words for why somebody could not be signed in: the platform's error code, and its own words. */
export function useWhyNot(): (code: string, said?: string) => string {
  const { session: words } = useWords();
  const known = words.failed as Readonly<Record<string, string>>;
  return (code, said) => known[code] ?? `${words.failed.other} ${said || code}`;
}

/** Signs in again, and why that was not possible. */
export function useSignInAgain(): readonly [again: () => void, failure: string | undefined] {
  const whyNot = useWhyNot();
  const [failure, setFailure] = useState<string>();
  function again(): void {
    setFailure(undefined);
    signInAgain().catch((thrown: unknown) =>
      setFailure(thrown instanceof SignInError ? whyNot(thrown.code, thrown.message) : whyNot("unreachable")),
    );
  }
  return [again, failure];
}
