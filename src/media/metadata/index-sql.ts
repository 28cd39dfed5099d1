import { KEYS_KEY } from "./attributes.ts";

/**
 * SQL: these statements keep the metadata index equal to `file.attributes`, which lists the index rows of a file. They
 * run in the batch that changes the record; running one twice changes nothing more. `files`: tables of which one is
 * `file`.
 */
const rowsOf = (files: string): string => `${files} CROSS JOIN json_each(file.attributes, '$.rows') AS pair`;

/** Runs before the record changes. */
export const removeIndex = (files: string, where: string): string => `
  DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id FROM ${rowsOf(files)} WHERE ${where})`;

/** Runs after `removeIndex`, and deletes key sets that no other file of the owner has. */
export const removeKeySets = (files: string, where: string): string => `
  DELETE FROM key_set WHERE id IN (SELECT key_set.id FROM ${rowsOf(files)}
    CROSS JOIN key_set ON key_set.owner_id = file.owner_id AND key_set.digest = pair.value ->> 1
    WHERE ${where} AND pair.value ->> 0 = '${KEYS_KEY}' AND NOT EXISTS (
      SELECT 1 FROM attribute WHERE attribute.owner_id = file.owner_id AND attribute.key = '${KEYS_KEY}'
        AND attribute.value = key_set.digest))`;

/** Runs after the record changed. */
export const addIndex = (files: string, where: string): string => `
  INSERT INTO attribute (owner_id, key, value, file_id, leads)
  SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id, pair.value ->> 2
  FROM ${rowsOf(files)} WHERE ${where} ON CONFLICT DO NOTHING`;

export const addKeySets = (files: string, where: string): string => `
  INSERT INTO key_set (owner_id, digest, keys)
  SELECT file.owner_id,
    (SELECT pair.value ->> 1 FROM json_each(file.attributes, '$.rows') AS pair WHERE pair.value ->> 0 = '${KEYS_KEY}'),
    (SELECT json_group_array(pair.value ->> 0) FROM json_each(file.attributes, '$.rows') AS pair
      WHERE pair.value ->> 2)
  FROM ${files} WHERE file.attributes IS NOT NULL AND ${where} ON CONFLICT DO NOTHING`;

/** ?1: a JSON array of file ids. */
const FILES = `json_each(?1) AS chosen CROSS JOIN file ON file.id = chosen.value`;
/** Without removed files and retired owners. */
const LIVE_FILES = `${FILES} AND file.state = 'committed'
  CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL`;

export const ATTRIBUTE_SQL = {
  remove: removeIndex(FILES, "true"),
  removeKeySets: removeKeySets(FILES, "true"),
  add: addIndex(LIVE_FILES, "true"),
  addKeySet: addKeySets(LIVE_FILES, "true"),
} as const;
