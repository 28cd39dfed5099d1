-- What the scope `profile` tells of a person besides the name: an https address of a picture, and a language (BCP 47).
-- Empty: not told.
ALTER TABLE user ADD COLUMN picture TEXT NOT NULL DEFAULT '';
ALTER TABLE user ADD COLUMN locale TEXT NOT NULL DEFAULT '';
