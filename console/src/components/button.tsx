import {
  Button as AriaButton,
  composeRenderProps,
  Link as AriaLink,
  type ButtonProps,
  type LinkProps,
} from "react-aria-components";

/** A button. `className` is its kind: `primary`, `danger`, `plain`, `icon`; a quiet button by default. */
export function Button({ className, ...props }: ButtonProps) {
  return <AriaButton {...props} className={composeRenderProps(className, (kind) => `button ${kind ?? ""}`)} />;
}

/** A link to another page of the console that looks like a button. */
export function LinkButton({ className, ...props }: LinkProps) {
  return <AriaLink {...props} className={composeRenderProps(className, (kind) => `button ${kind ?? ""}`)} />;
}

/** A link to another page of the console, in text. */
export function TextLink({ className, ...props }: LinkProps) {
  return <AriaLink {...props} className={composeRenderProps(className, (kind) => `link ${kind ?? ""}`)} />;
}
