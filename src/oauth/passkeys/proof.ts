import { checkCode } from "../factors/check.ts";
import type { AnyCall } from "../model/call.ts";
import { withCode, withPasskey, type Methods } from "../model/methods.ts";
import type { Parameters } from "../model/parameters.ts";
import type { CodeFault } from "../pages/views/factors.ts";
import type { Session } from "../sign-in/sessions.ts";
import { checkPasskey } from "./check.ts";
import type { PasskeyDeps } from "./passkeys.ts";

interface Shown {
  readonly form: Parameters;
  /** The secret that the form is bound to. */
  readonly key: string;
  readonly action: string;
}

/** The second factor in a form: a passkey's answer, a one-time code or a recovery code. Uses it up. */
export async function checkProof(
  deps: PasskeyDeps,
  call: AnyCall,
  { user, methods }: Pick<Session, "user" | "methods">,
  { form, key, action }: Shown,
): Promise<{ readonly kind: "ok"; readonly methods: Methods } | { readonly kind: CodeFault }> {
  const credential = form.get("credential") ?? "";
  if (credential !== "") {
    const answered = { challenge: form.get("challenge") ?? "", credential };
    const asked = { purpose: "second factor", key, email: user.email, action } as const;
    const { kind } = await checkPasskey(deps, call, answered, asked);
    return kind === "ok" ? { kind, methods: withPasskey(methods) } : { kind: kind === "wrong" ? "passkey" : kind };
  }
  const typed = form.get("code") ?? form.get("recovery_code") ?? "";
  if (!user.hasSecondFactor) return { kind: "passkey" };
  if (typed === "") return { kind: "wrong" };
  const { kind } = await checkCode(deps, call, { user }, typed, action);
  return kind === "ok" ? { kind, methods: withCode(methods) } : { kind };
}
