import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useWords } from "../words/words.ts";
import { Button } from "./button.tsx";
import { say } from "./toasts/say.ts";

/** A button that copies a text and confirms it. */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const { common } = useWords();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2_000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <Button
      className="small"
      {...(label !== undefined && { "aria-label": `${isCopied ? common.copied : common.copy}: ${label}` })}
      onPress={() => {
        navigator.clipboard.writeText(text).then(
          () => setCopied(true),
          () => say.failed(common.notCopied),
        );
      }}
    >
      {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
      <span aria-live="polite">{isCopied ? common.copied : common.copy}</span>
    </Button>
  );
}

interface CodeBlockProps {
  readonly code: string;
  readonly label: string;
  /** Tells it from others of the page with this label. */
  readonly name?: string;
}

/** A block of code with a button to copy it. */
export function CodeBlock({ code, label, name }: CodeBlockProps) {
  const full = name === undefined ? label : `${label}: ${name}`;
  return (
    <figure className="code">
      <figcaption>
        {label}
        <CopyButton text={code} label={full} />
      </figcaption>
      <pre tabIndex={0} aria-label={full}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}
