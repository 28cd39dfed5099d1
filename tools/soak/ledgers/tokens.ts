export interface SoakToken {
  readonly text: string;
  /** The grant type. */
  readonly grant: string;
  /** The client that may revoke it. */
  readonly owner: "app" | "shop";
  state: "valid" | "ending" | "revoked";
}

/** The run's tokens and their states. */
export class TokensLedger {
  readonly all: SoakToken[] = [];

  valid(): SoakToken[] {
    return this.all.filter(({ state }) => state === "valid");
  }
}
