import {
  Button as AriaButton,
  composeRenderProps,
  Link as AriaLink,
  type ButtonProps,
  type LinkProps,
} from "react-aria-components";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";

/** A button. `className` is its kind: `primary`, `danger`, `plain`, `icon`; a quiet button by default. */
export function Button({ className, ...props }: ButtonProps) {
  return <AriaButton {...props} className={composeRenderProps(className, (kind) => `button ${kind ?? ""}`)} />;
}

interface SmallButtonProps {
  readonly onPress: () => void;
  /** The text for screen readers, if several buttons have the same text: `Edit: Brand`. */
  readonly label?: string;
  readonly children: ReactNode;
}

/** Acts on a card, beside its title. */
export function SmallButton({ label, ...props }: SmallButtonProps) {
  return <Button className="small" {...(label !== undefined && { "aria-label": label })} {...props} />;
}

/** A link to another page of the console that looks like a button. */
export function LinkButton({ className, ...props }: LinkProps) {
  return <AriaLink {...props} className={composeRenderProps(className, (kind) => `button ${kind ?? ""}`)} />;
}

/** The main button of a list: it leads to the page that makes a row. */
export function MakeLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  return (
    <LinkButton className="primary" href={href}>
      <Plus aria-hidden /> {children}
    </LinkButton>
  );
}

/** A link to another page of the console, in text. */
export function TextLink({ className, ...props }: LinkProps) {
  return <AriaLink {...props} className={composeRenderProps(className, (kind) => `link ${kind ?? ""}`)} />;
}
