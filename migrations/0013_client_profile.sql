-- `fapi2`: the client keeps to the FAPI 2.0 Security Profile. Empty: as before.
ALTER TABLE client ADD COLUMN profile TEXT NOT NULL DEFAULT '';
