import type { OperatedSubscription } from "../../../../api/plinth.ts";
import { Badge } from "../../components/states.tsx";
import { useWords } from "../../words/words.ts";

/** A push subscription's state; one whose right is gone delivers nothing, whatever its state. */
export function SubscriptionBadge({
  subscription: { state, halt },
}: {
  readonly subscription: Pick<OperatedSubscription, "state" | "halt">;
}) {
  const { push: words } = useWords();
  if (halt !== null) return <Badge kind="bad">{words.halted}</Badge>;
  return (
    <Badge kind={state === "active" ? "good" : state === "unverified" ? "warn" : "bad"}>{words.states[state]}</Badge>
  );
}
