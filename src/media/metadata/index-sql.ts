import { KEYS_KEY } from "./attributes.ts";

const FILES = `json_each(?1) AS chosen CROSS JOIN file ON file.id = chosen.value`;
const LIVE_FILES = `${FILES} AND file.state = 'committed'
  CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL`;

/**
 * These statements keep the metadata index equal to `file.attributes`, which lists the index rows of a file. They run
 * in the batch that changes the record; running one twice changes nothing more. ?1 is a JSON array of file ids.
 */
export const ATTRIBUTE_SQL = {
  /** Runs before the record changes. */
  remove: `DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id
    FROM ${FILES} CROSS JOIN json_each(file.attributes, '$.rows') AS pair)`,
  /** Runs after `remove`, and deletes key sets that no other file of the owner has. */
  removeKeySets: `DELETE FROM key_set WHERE id IN (SELECT key_set.id
    FROM ${FILES} CROSS JOIN json_each(file.attributes, '$.rows') AS pair
    CROSS JOIN key_set ON key_set.owner_id = file.owner_id AND key_set.digest = pair.value ->> 1
    WHERE pair.value ->> 0 = '${KEYS_KEY}' AND NOT EXISTS (SELECT 1 FROM attribute
      WHERE attribute.owner_id = file.owner_id AND attribute.key = '${KEYS_KEY}'
        AND attribute.value = key_set.digest))`,
  /** Runs after the record changed. Writes nothing for removed files and retired owners. */
  add: `INSERT INTO attribute (owner_id, key, value, file_id, leads)
    SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id, pair.value ->> 2
    FROM ${LIVE_FILES} CROSS JOIN json_each(file.attributes, '$.rows') AS pair
    WHERE true
    ON CONFLICT DO NOTHING`,
  addKeySet: `INSERT INTO key_set (owner_id, digest, keys)
    SELECT file.owner_id,
      (SELECT pair.value ->> 1 FROM json_each(file.attributes, '$.rows') AS pair WHERE pair.value ->> 0 = '${KEYS_KEY}'),
      (SELECT json_group_array(pair.value ->> 0) FROM json_each(file.attributes, '$.rows') AS pair
        WHERE pair.value ->> 2)
    FROM ${LIVE_FILES} WHERE file.attributes IS NOT NULL
    ON CONFLICT DO NOTHING`,
} as const;
