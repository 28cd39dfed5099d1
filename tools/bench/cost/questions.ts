import type { Archive, Copies } from "../media/archive.ts";

/** What the bench asks of the server's process, past HTTP: one of them at a time. */
export interface Question {
  /** Brings an archive to its number of files. */
  readonly fill?: Archive;
  readonly copy?: Copies;
  /** Runs the cron, as if it were then. */
  readonly cronAtMs?: number;
  /** Starts a service for the gateway; the answer is its address. */
  readonly service?: true;
  /** The answer is the size of the database, bytes. */
  readonly databaseSize?: true;
}
