/** The newest file of migrations/ that this release reads or writes. A test compares it with the folder. */
export const NEWEST_MIGRATION = "0053_deleted_variants_keep_place.sql";
