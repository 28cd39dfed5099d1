import { KEYS_KEY } from "./attributes.ts";

const FILES = `json_each(?1) AS chosen CROSS JOIN file ON file.id = chosen.value`;
const LIVE_FILES = `${FILES} AND file.state = 'committed'
  CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL`;

/**
 * The metadata index follows the record of a file: `file.attributes` says which rows it has, and these statements make
 * it so. Each is a part of the batch that changes the record, and each may run again and changes nothing more.
 * ?1 is a JSON array of ids of files.
 */
export const ATTRIBUTE_SQL = {
  /** Before the record changes. */
  forget: `DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id
    FROM ${FILES} CROSS JOIN json_each(file.attributes, '$.rows') AS pair)`,
  /** After `forget`: sets of keys that no other file of the owner has. */
  forgetKeySets: `DELETE FROM key_set WHERE id IN (SELECT key_set.id
    FROM ${FILES} CROSS JOIN json_each(file.attributes, '$.rows') AS pair
    CROSS JOIN key_set ON key_set.owner_id = file.owner_id AND key_set.digest = pair.value ->> 1
    WHERE pair.value ->> 0 = '${KEYS_KEY}' AND NOT EXISTS (SELECT 1 FROM attribute
      WHERE attribute.owner_id = file.owner_id AND attribute.key = '${KEYS_KEY}'
        AND attribute.value = key_set.digest))`,
  /** After the record has changed. Nothing is written for a file that is removed, or of an owner that is retired. */
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
