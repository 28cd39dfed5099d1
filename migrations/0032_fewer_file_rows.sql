-- What a deletion of one file writes, and where its bytes can be.
-- The deletion of this file alone, where `erasure_id` names one of many files. No index has it.
ALTER TABLE file ADD COLUMN erased_by TEXT;
-- 1: all bytes of the file are at places that its row and those of its variants name (src/media/erasure/erase.ts).
ALTER TABLE file ADD COLUMN known_places INTEGER;
