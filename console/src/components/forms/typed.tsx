import { useBlocker } from "@tanstack/react-router";
import { createContext, use, useEffect, useRef, type RefObject } from "react";
import { useWords } from "../../words/words.ts";
import { Confirm } from "../dialogs.tsx";

/** What a form would lose: what was typed, or the answer to what is being sent. */
export type Unsent = "nothing" | "typed" | "sending";

/** A panel shares it with the form that it shows. */
export const SentFromPanel = createContext<RefObject<Unsent> | undefined>(undefined);

/** The form's own, or that of the panel around it. */
export function useUnsent(): RefObject<Unsent> {
  const own = useRef<Unsent>("nothing");
  const unsent = use(SentFromPanel) ?? own;
  useEffect(() => () => void (unsent.current = "nothing"), [unsent]);
  return unsent;
}

/** Asks before what was typed is thrown away. */
export function Discard({ keep, discard }: { readonly keep: () => void; readonly discard: () => void }) {
  const { unsent } = useWords();
  return (
    <Confirm title={unsent.title} isOpen close={keep} act={unsent.act} isDangerous onConfirm={async () => discard()}>
      {unsent.text}
    </Confirm>
  );
}

/** Asks before another page is shown in place of a form; the browser asks before the window is closed. */
export function AskBeforeLeaving({ unsent }: { readonly unsent: RefObject<Unsent> }) {
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => unsent.current === "typed" && current.pathname !== next.pathname,
    enableBeforeUnload: () => unsent.current !== "nothing",
    withResolver: true,
  });
  return leaving.status === "blocked" && <Discard keep={leaving.reset} discard={leaving.proceed} />;
}
