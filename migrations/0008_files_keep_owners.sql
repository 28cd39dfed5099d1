-- Files go by the name of their client and by their tenant. The operator's service looks for them before it removes or
-- renames either; these refuse it where a file was committed in between.
CREATE TRIGGER client_with_files_stays BEFORE DELETE ON client
WHEN EXISTS (SELECT 1 FROM owner WHERE owner.client = old.name AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the client has files');
END;
CREATE TRIGGER client_with_files_keeps_name BEFORE UPDATE OF name ON client
WHEN new.name <> old.name
  AND EXISTS (SELECT 1 FROM owner WHERE owner.client = old.name AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the client has files');
END;
CREATE TRIGGER client_with_files_keeps_tenant BEFORE UPDATE OF tenant ON client
WHEN new.tenant <> old.tenant
  AND EXISTS (SELECT 1 FROM owner WHERE owner.client = old.name AND owner.tenant = old.tenant
    AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the client has files');
END;
CREATE TRIGGER tenant_with_files_stays BEFORE DELETE ON tenant
WHEN EXISTS (SELECT 1 FROM owner WHERE owner.tenant = old.id AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the tenant has files');
END;
