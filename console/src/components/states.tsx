import { useEffect, useState, type ReactNode } from "react";
import { useWords } from "../words/words.ts";

/** Grey bars during loading. They appear after a moment, so that quick answers do not flicker. */
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
  /** The button that creates the first entry. */
  readonly action?: ReactNode;
}

/** Shown in place of an empty list: what belongs there, and how to begin. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="notice empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action}
    </div>
  );
}

/** A word for a state. The colour adds no information to the word. */
export function Badge({
  kind = "plain",
  children,
}: {
  readonly kind?: "plain" | "good" | "warn" | "bad";
  readonly children: ReactNode;
}) {
  return <span className={`badge ${kind}`}>{children}</span>;
}
