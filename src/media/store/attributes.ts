import { KEYS_KEY } from "../attributes.ts";

/**
 * The metadata index follows the record of a file: `file.attributes` says which rows it has, and these statements make
 * it so. Each is a part of the batch that changes the record, and each may run again and changes nothing more.
 * ?1 is the file.
 */
export const ATTRIBUTE_SQL = {
  /** Before the record changes. */
  forget: `DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id
    FROM file CROSS JOIN json_each(file.attributes, '$.rows') AS pair WHERE file.id = ?1)`,
  /** After it. Nothing is written for a file that is removed, or of an owner that is retired. */
  add: `INSERT INTO attribute (owner_id, key, value, file_id, leads)
    SELECT file.owner_id, pair.value ->> 0, pair.value ->> 1, file.id, pair.value ->> 2
    FROM file CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL
    CROSS JOIN json_each(file.attributes, '$.rows') AS pair
    WHERE file.id = ?1 AND file.state = 'committed'
    ON CONFLICT DO NOTHING`,
  addKeySet: `INSERT INTO key_set (owner_id, digest, keys)
    SELECT file.owner_id,
      (SELECT pair.value ->> 1 FROM json_each(file.attributes, '$.rows') AS pair WHERE pair.value ->> 0 = '${KEYS_KEY}'),
      (SELECT json_group_array(pair.value ->> 0) FROM json_each(file.attributes, '$.rows') AS pair
        WHERE pair.value ->> 2 AND pair.value ->> 0 LIKE '.%')
    FROM file CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL
    WHERE file.id = ?1 AND file.state = 'committed' AND file.attributes IS NOT NULL
    ON CONFLICT DO NOTHING`,
} as const;
