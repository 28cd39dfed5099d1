import type { Archive, Copies } from "./archive.ts";
import type { PageRead } from "./rows-read.ts";

/** What the bench asks of a server's process, past HTTP: one of them at a time. */
export interface Question {
  /** Brings an archive to its number of files. */
  readonly fill?: Archive;
  readonly copy?: Copies;
  /** Of the platform alone; the answer is their number. */
  readonly countRows?: PageRead;
}
