/** The newest file of migrations/ that this release reads or writes. A test compares it with the folder. */
export const NEWEST_MIGRATION = "0054_index_follows_file.sql";
