import { TWO_FACTOR_SIGN_IN } from "./claims.ts";

/**
 * Methods of a sign-in, in the order of their use: the `amr` of tokens (RFC 8176). They end with `mfa` after two
 * factors. Undefined: unknown, for example at another identity provider. Such a sign-in counts as one factor.
 */
export type Methods = readonly string[];

export const BY_PASSWORD: Methods = ["pwd"];
const TWO_FACTORS = "mfa";

export const hasTwoFactors = (methods: Methods | undefined): boolean => methods?.includes(TWO_FACTORS) === true;

/** After a one-time code or a recovery code. */
export const withCode = (methods: Methods = []): Methods => [...methods, "otp", TWO_FACTORS];

/**
 * A passkey: possession of a key (`pop`), and a person whom its authenticator verified (`user`). Two factors, after
 * another method or alone.
 */
export const withPasskey = (methods: Methods = []): Methods => [...methods, "pop", "user", TWO_FACTORS];
export const BY_PASSKEY: Methods = withPasskey();

/** For sessions of our own directory. A row without methods is older than the column, so it began with the password. */
export const hasPassword = (methods: Methods | undefined): boolean => methods?.includes("pwd") !== false;

/** The claims of a token. `acr`: the kind that the client requested. Two factors are stated without a request. */
export const methodClaims = ({
  methods,
  acr,
}: {
  readonly methods?: Methods | undefined;
  readonly acr?: string | undefined;
}): MethodClaims => {
  const kind = acr ?? (hasTwoFactors(methods) ? TWO_FACTOR_SIGN_IN : undefined);
  return { ...(kind === undefined ? {} : { acr: kind }), ...(methods === undefined ? {} : { amr: methods }) };
};
export interface MethodClaims {
  readonly acr?: string;
  readonly amr?: Methods;
}

/** The text of the column `amr`. */
export const toMethods = (text: string | null): Methods | undefined => text?.split(" ");
