-- The metadata index follows file.attributes by itself: src/media/metadata/attributes.ts. A commit, a change and a
-- removal of metadata each write the file alone. Rows that the old and the new metadata share are left as they are.
-- Releases without these triggers write the same rows, which then exist already.
CREATE TRIGGER file_enters_index AFTER INSERT ON file WHEN new.attributes IS NOT NULL BEGIN
  INSERT INTO attribute (owner_id, key, value, file_id, leads)
    SELECT new.owner_id, pair.value ->> 0, pair.value ->> 1, new.id, pair.value ->> 2
    FROM json_each(new.attributes, '$.rows') AS pair WHERE true ON CONFLICT DO NOTHING;
  INSERT INTO key_set (owner_id, digest, keys)
    SELECT new.owner_id, pair.value ->> 1, (SELECT json_group_array(led.value ->> 0)
      FROM json_each(new.attributes, '$.rows') AS led WHERE led.value ->> 2)
    FROM json_each(new.attributes, '$.rows') AS pair WHERE pair.value ->> 0 = '#keys' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER file_changes_index AFTER UPDATE OF attributes ON file
WHEN new.attributes IS NOT old.attributes BEGIN
  DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT old.owner_id, pair.value ->> 0, pair.value ->> 1, old.id FROM json_each(old.attributes, '$.rows') AS pair
    WHERE new.attributes IS NULL
      OR pair.value NOT IN (SELECT kept.value FROM json_each(new.attributes, '$.rows') AS kept));
  INSERT INTO attribute (owner_id, key, value, file_id, leads)
    SELECT new.owner_id, pair.value ->> 0, pair.value ->> 1, new.id, pair.value ->> 2
    FROM json_each(new.attributes, '$.rows') AS pair WHERE true ON CONFLICT DO NOTHING;
  DELETE FROM key_set WHERE id IN (SELECT lost.id FROM json_each(old.attributes, '$.rows') AS pair
    CROSS JOIN key_set AS lost ON lost.owner_id = old.owner_id AND lost.digest = pair.value ->> 1
    WHERE pair.value ->> 0 = '#keys' AND NOT EXISTS (SELECT 1 FROM attribute
      WHERE attribute.owner_id = lost.owner_id AND attribute.key = '#keys' AND attribute.value = lost.digest));
  INSERT INTO key_set (owner_id, digest, keys)
    SELECT new.owner_id, pair.value ->> 1, (SELECT json_group_array(led.value ->> 0)
      FROM json_each(new.attributes, '$.rows') AS led WHERE led.value ->> 2)
    FROM json_each(new.attributes, '$.rows') AS pair WHERE pair.value ->> 0 = '#keys' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER file_leaves_index AFTER DELETE ON file WHEN old.attributes IS NOT NULL BEGIN
  DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT old.owner_id, pair.value ->> 0, pair.value ->> 1, old.id FROM json_each(old.attributes, '$.rows') AS pair);
  DELETE FROM key_set WHERE id IN (SELECT lost.id FROM json_each(old.attributes, '$.rows') AS pair
    CROSS JOIN key_set AS lost ON lost.owner_id = old.owner_id AND lost.digest = pair.value ->> 1
    WHERE pair.value ->> 0 = '#keys' AND NOT EXISTS (SELECT 1 FROM attribute
      WHERE attribute.owner_id = lost.owner_id AND attribute.key = '#keys' AND attribute.value = lost.digest));
END;
