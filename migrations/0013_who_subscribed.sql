-- Who made a push subscription: besides its client and time the tenant of the token, the request, and the scope that gave the
-- right where the client does not own the topic. Empty in those from before, of which nobody knows whether the client itself
-- made them: the operator lists them as `maker=unknown`, and an update by the client's own token fills it in.
ALTER TABLE push_subscription ADD COLUMN made_in_tenant TEXT;
ALTER TABLE push_subscription ADD COLUMN made_by_request TEXT;
ALTER TABLE push_subscription ADD COLUMN made_by_scope TEXT;
CREATE INDEX push_subscription_of_unknown ON push_subscription (id) WHERE made_by_request IS NULL;

-- Whether the endpoint has to prove that it wants the events: empty where it need not. Until it is `done`, `state` is `disabled`,
-- so that code that knows nothing of this sends nothing.
ALTER TABLE push_subscription ADD COLUMN verification TEXT CHECK (verification IN ('pending', 'done', 'failed'));

-- The operator's list goes by id, of a client or of a topic too.
DROP INDEX push_subscription_by_client;
CREATE INDEX push_subscription_by_client ON push_subscription (client, id);
CREATE INDEX push_subscription_by_topic ON push_subscription (topic, id);
