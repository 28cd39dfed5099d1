import { useBlocker } from "@tanstack/react-router";
import { createContext, use, useEffect, useRef, type RefObject } from "react";
import { useWords } from "../../words/words.ts";
import { Confirm } from "../dialogs.tsx";

/** True while a form has something that was typed and not sent. A panel shares it with the form that it shows. */
export type Typed = RefObject<boolean>;

export const TypedInPanel = createContext<Typed | undefined>(undefined);

/** The form's own, or that of the panel around it. */
export function useTyped(): Typed {
  const own = useRef(false);
  const typed = use(TypedInPanel) ?? own;
  useEffect(() => () => void (typed.current = false), [typed]);
  return typed;
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
export function AskBeforeLeaving({ typed }: { readonly typed: Typed }) {
  const leaving = useBlocker({
    shouldBlockFn: ({ current, next }) => typed.current && current.pathname !== next.pathname,
    enableBeforeUnload: () => typed.current,
    withResolver: true,
  });
  return leaving.status === "blocked" && <Discard keep={leaving.reset} discard={leaving.proceed} />;
}
