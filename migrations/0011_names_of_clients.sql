-- What a client has that is no committed file goes by its name too: files that wait for their commit (the owner without a
-- tenant) and reports of deletions. Both go along with a new name in one write, however many they are, and nobody
-- inherits them with the old one.

-- Who asked for deletions: a client, by the name that it has now. Goes with the client; an id is never given twice.
CREATE TABLE requester (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  client TEXT NOT NULL UNIQUE
) STRICT;
-- Without a foreign key: reports outlive their requester, and are nobody's then. So are those from before the client of
-- that name was made.
ALTER TABLE erasure ADD COLUMN requester_id INTEGER;
INSERT INTO requester (client) SELECT name FROM client
  WHERE EXISTS (SELECT 1 FROM erasure WHERE erasure.client = client.name);
UPDATE erasure SET requester_id = requester.id, tenant = iif(erasure.tenant = '', client.tenant, erasure.tenant)
  FROM client JOIN requester ON requester.client = client.name
  WHERE erasure.client = client.name AND erasure.requested_at >= client.created_at;
DROP INDEX erasure_by_client;
ALTER TABLE erasure DROP COLUMN client;
CREATE INDEX erasure_by_requester ON erasure (requester_id, tenant, id);

-- A file without its owner is nobody's: its link takes no bytes, and the sweep removes it when its day is over. What stands
-- under a name that a client takes came by a token of who had it before, which counts for some seconds after its end.
DELETE FROM owner WHERE tenant = '' AND NOT EXISTS (SELECT 1 FROM client WHERE client.name = owner.client);
CREATE TRIGGER client_takes_name AFTER INSERT ON client BEGIN
  DELETE FROM owner WHERE client = new.name AND tenant = '' AND erasure_id IS NULL;
  DELETE FROM requester WHERE client = new.name;
END;
CREATE TRIGGER client_changes_name AFTER UPDATE OF name ON client WHEN new.name <> old.name BEGIN
  DELETE FROM owner WHERE client = new.name AND tenant = '' AND erasure_id IS NULL;
  UPDATE owner SET client = new.name WHERE client = old.name AND tenant = '' AND erasure_id IS NULL;
  DELETE FROM requester WHERE client = new.name;
  UPDATE requester SET client = new.name WHERE client = old.name;
END;
CREATE TRIGGER client_changes_tenant AFTER UPDATE OF tenant ON client WHEN new.tenant <> old.tenant BEGIN
  DELETE FROM owner WHERE client IN (old.name, new.name) AND tenant = '' AND erasure_id IS NULL;
END;
CREATE TRIGGER client_goes AFTER DELETE ON client BEGIN
  DELETE FROM owner WHERE client = old.name AND tenant = '' AND erasure_id IS NULL;
  DELETE FROM requester WHERE client = old.name;
END;
