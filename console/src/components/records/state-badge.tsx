import { useWords } from "../../words/words.ts";
import { Badge } from "../states.tsx";

/** Whether something may be used, or is disabled. */
export function StateBadge({ disabled }: { readonly disabled: boolean }) {
  const { common } = useWords();
  return <Badge kind={disabled ? "bad" : "good"}>{disabled ? common.disabled : common.active}</Badge>;
}
