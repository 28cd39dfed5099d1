/**
 * A private file of the run: created → uploaded → committed → deleting → deleted. `busy`: somebody is taking the next
 * step, so nobody else does.
 */
export interface SoakFile {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
  readonly bytes: Buffer;
  readonly type: string;
  readonly tenant: string;
  /** In its metadata, of this file alone. */
  readonly mark: string;
  state: "created" | "uploaded" | "committed" | "deleting" | "deleted";
  busy: boolean;
  /** Where the report of its deletion is, if the answer came. */
  erasure?: string;
}

export class FilesLedger {
  readonly all: SoakFile[] = [];

  /** Those that nobody works on. */
  free(state: SoakFile["state"]): SoakFile[] {
    return this.all.filter((file) => file.state === state && !file.busy);
  }

  of(state: SoakFile["state"]): SoakFile[] {
    return this.all.filter((file) => file.state === state);
  }
}
