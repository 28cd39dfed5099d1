import { useRouter } from "@tanstack/react-router";
import type { ButtonHTMLAttributes, MouseEvent, ReactNode } from "react";
import { CONSOLE_PATH } from "../session/config.ts";

/**
 * The browser's own button and link, for the first view, which therefore loads nothing of React Aria. Everywhere else
 * use those of `button.tsx`, which work with its dialogs and forms.
 */
export function PlainButton({ className = "", ...props }: ButtonHTMLAttributes<HTMLButtonElement>) {
  return <button type="button" {...props} className={`button ${className}`} />;
}

interface PageLinkProps {
  /** The path below the console: `/tenants/acme`. */
  readonly href: string;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A link to another page of the console. */
export function PageLink({ href, className = "link", children }: PageLinkProps) {
  const router = useRouter();
  function follow(event: MouseEvent): void {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ href });
  }
  return (
    <a href={`${CONSOLE_PATH}${href}`} className={className} onClick={follow}>
      {children}
    </a>
  );
}
