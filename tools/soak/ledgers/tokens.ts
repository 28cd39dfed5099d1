export interface SoakToken {
  readonly text: string;
  /** How it was got. */
  readonly grant: string;
  /** Who may revoke it. */
  readonly owner: "app" | "shop";
  state: "valid" | "ending" | "revoked";
}

/** Tokens of the run, and whether they are revoked. */
export class TokensLedger {
  readonly all: SoakToken[] = [];

  valid(): SoakToken[] {
    return this.all.filter(({ state }) => state === "valid");
  }
}
