import { KeyRound } from "lucide-react";
import { useEffect, useRef } from "react";
import { useWords } from "../../words/words.ts";
import { CopyButton } from "../copy.tsx";

interface SecretOnceProps {
  readonly secret: string;
  /** `Client secret`; without it, "Secret". */
  readonly label?: string;
}

/** Shows a secret that the platform shows only once. It is stored nowhere but in this page's memory. */
export function SecretOnce({ secret, label }: SecretOnceProps) {
  const { secret: words } = useWords();
  const name = label ?? words.label;
  const element = useRef<HTMLDivElement>(null);
  // The button that makes one may be at the foot of the page.
  useEffect(() => {
    element.current?.scrollIntoView({ block: "nearest" });
  }, [secret]);
  return (
    <div ref={element} className="secret" role="status">
      <KeyRound aria-hidden />
      <div>
        <h3>{words.title}</h3>
        <p>{words.text}</p>
        <p className="secret-value">
          <code aria-label={name}>{secret}</code>
          <CopyButton text={secret} label={name} />
        </p>
      </div>
    </div>
  );
}
