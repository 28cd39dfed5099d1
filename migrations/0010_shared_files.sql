-- Files that clients of their tenant share (src/media/model/access.ts). `shared_in`: '<visibility> <tenant>', set by the
-- commit; NULL: the file is its client's alone. The last columns are behind long texts, so the paths that are asked for
-- most do not read them.
ALTER TABLE file ADD COLUMN shared_in TEXT;
CREATE INDEX file_by_share ON file (shared_in, id) WHERE state = 'committed' AND shared_in IS NOT NULL;
