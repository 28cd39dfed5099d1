/**
 * A part of a backup: lines of JSON, stored under the SHA-256 of their bytes. So equal parts of two backups are one
 * object, and a part never changes.
 */
export interface Part {
  /** The kind of the lines: `table:client`, `log:{incarnation}:{shard}`, `media` … */
  readonly section: string;
  readonly digest: string;
  readonly bytes: number;
  readonly count: number;
  /** Facts that only this section has, as JSON; may be empty. */
  readonly info: string;
}

export const SECTIONS = { push: "push", consumers: "consumers", metrics: "metrics", media: "media" } as const;
export const tableSection = (table: string): string => `table:${table}`;
export const logSection = (incarnation: string, shard: number): string => `log:${incarnation}:${shard}`;
