import type { CDPSession, Page } from "playwright-core";

export interface Credential {
  readonly credentialId: string;
  readonly isResidentCredential: boolean;
  readonly rpId?: string;
  readonly privateKey: string;
  readonly userHandle?: string;
  readonly signCount: number;
}

/** An authenticator of a page in Chromium, which agrees to everything at once. */
export class Authenticator {
  readonly #session: CDPSession;
  #id: string;

  private constructor(session: CDPSession, id: string) {
    this.#session = session;
    this.#id = id;
  }

  static async plugIn(page: Page): Promise<Authenticator> {
    const session = await page.context().newCDPSession(page);
    await session.send("WebAuthn.enable", { enableUI: false });
    const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
      options: {
        protocol: "ctap2",
        ctap2Version: "ctap2_1",
        transport: "internal",
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return new Authenticator(session, authenticatorId);
  }

  get #target(): { authenticatorId: string } {
    return { authenticatorId: this.#id };
  }

  async credentials(): Promise<readonly Credential[]> {
    return (await this.#session.send("WebAuthn.getCredentials", this.#target)).credentials;
  }

  /** Whether it knows that it is the person. */
  async verify(isUserVerified: boolean): Promise<void> {
    await this.#session.send("WebAuthn.setUserVerified", { ...this.#target, isUserVerified });
  }

  /** Nobody touches it: a request waits. */
  async pause(): Promise<void> {
    await this.#session.send("WebAuthn.setAutomaticPresenceSimulation", { ...this.#target, enabled: false });
  }

  async resume(): Promise<void> {
    await this.#session.send("WebAuthn.setAutomaticPresenceSimulation", { ...this.#target, enabled: true });
  }

  /** These are all that it has then. */
  async take(credentials: readonly Credential[]): Promise<void> {
    await this.#session.send("WebAuthn.clearCredentials", this.#target);
    for (const credential of credentials)
      await this.#session.send("WebAuthn.addCredential", { ...this.#target, credential });
  }
}
