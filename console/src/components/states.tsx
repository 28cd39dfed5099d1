import { useEffect, useState, type ReactNode } from "react";
import { useWords } from "../words/words.ts";

/** Grey bars in place of what is loaded. Nothing for the first moment, so that quick answers do not flicker. */
export function Loading({ rows = 4 }: { readonly rows?: number }) {
  const { common } = useWords();
  const [isShown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), 200);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status" aria-label={common.loading}>
      {isShown && Array.from({ length: rows }, (_, at) => <div key={at} className="bar" />)}
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  /** The button that makes the first one. */
  readonly action?: ReactNode;
}

/** In place of a list that has nothing: what belongs here, and how to begin. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="notice empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** A word about a state. The colour says nothing that the word does not. */
export function Badge({
  kind = "plain",
  children,
}: {
  readonly kind?: "plain" | "good" | "warn" | "bad";
  readonly children: ReactNode;
}) {
  return <span className={`badge ${kind}`}>{children}</span>;
}
