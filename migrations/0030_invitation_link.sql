-- Invitations whose link an operator hands over. `by_hand`: 1 if no mail was sent, so the link proves no address.
ALTER TABLE tenant_invitation ADD COLUMN by_hand INTEGER NOT NULL DEFAULT 0;
ALTER TABLE organization_invitation ADD COLUMN by_hand INTEGER NOT NULL DEFAULT 0;
