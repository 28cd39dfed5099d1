-- Isolates of a version before 0013 enable a push subscription by an update and know nothing of `verification`: the endpoint
-- that proved itself would hand its proof on to another one, and one that is still asked, or said no, would get events by
-- those isolates. Such a write has the endpoint asked anew. What writes both columns never meets these conditions.
CREATE TRIGGER push_subscription_asked_anew AFTER UPDATE OF endpoint, state ON push_subscription
WHEN (new.verification IN ('pending', 'failed') AND new.state = 'active')
  OR (new.verification = 'done' AND new.endpoint <> old.endpoint)
BEGIN
  UPDATE push_subscription SET verification = 'pending', state = 'disabled' WHERE id = new.id;
END;
