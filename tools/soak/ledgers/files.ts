/**
 * A private file of the run: created → uploaded → committed → deleting → deleted. `busy`: one operation works on it.
 */
export interface SoakFile {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
  readonly bytes: Buffer;
  readonly type: string;
  readonly tenant: string;
  /** A metadata value that only this file has. */
  readonly mark: string;
  state: "created" | "uploaded" | "committed" | "deleting" | "deleted";
  busy: boolean;
  /** Address of the erasure report, if the answer came. */
  erasure?: string;
}

export class FilesLedger {
  readonly all: SoakFile[] = [];

  /** Files that nobody works on. */
  free(state: SoakFile["state"]): SoakFile[] {
    return this.all.filter((file) => file.state === state && !file.busy);
  }

  of(state: SoakFile["state"]): SoakFile[] {
    return this.all.filter((file) => file.state === state);
  }
}
