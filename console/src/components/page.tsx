import { useEffect, useRef, type ReactNode } from "react";
import { ChevronRight } from "lucide-react";
import { useWords } from "../words/words.ts";
import { PageLink } from "./plain.tsx";

interface PageProps {
  readonly title: string;
  /** A sentence below the title. */
  readonly lead?: ReactNode;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  /** The list that this page belongs to: a link back to it. */
  readonly parent?: { readonly href: string; readonly title: string } | undefined;
  readonly children: ReactNode;
}

/** False before the first page, which leaves the focus to the browser. */
let isFurther = false;

/**
 * The frame of a page, with its title on the page and in the browser's tab. The heading gets the focus if a page before
 * had it, such as at a row: a screen reader says where the person is.
 */
export function Page({ title, lead, actions, parent, children }: PageProps) {
  const { common } = useWords();
  useEffect(() => {
    document.title = common.page(title);
  }, [common, title]);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isFurther && document.activeElement === document.body) heading.current?.focus({ preventScroll: true });
    isFurther = true;
  }, []);
  return (
    <div className="page">
      {parent !== undefined && (
        <p className="trail">
          <PageLink href={parent.href}>{parent.title}</PageLink>
          <ChevronRight aria-hidden />
        </p>
      )}
      <div className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <p className="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div className="buttons">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface CardProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}

export function Card({ title, actions, className = "", children }: CardProps) {
  return (
    <section className={`card ${className}`}>
      {title !== undefined && (
        <div className="card-head">
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** Names and values of one thing. */
export function Facts({ facts }: { readonly facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
