-- A client may keep people's files apart: `owner_user` is the subject of the person's token that created the file.
ALTER TABLE client ADD COLUMN files_per_user INTEGER NOT NULL DEFAULT 0;
ALTER TABLE file ADD COLUMN owner_user TEXT;
