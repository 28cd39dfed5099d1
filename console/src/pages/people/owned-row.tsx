import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { gone, type answer } from "../../api/client.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { usePerson } from "../../session/session.ts";

interface OwnedRowProps {
  readonly icon: LucideIcon;
  readonly name: string;
  readonly facts: readonly string[];
  /** The button's words. */
  readonly act: string;
  /** The button's words with the name of what is taken: the question, and what a screen reader says. */
  readonly question: string;
  readonly take: () => Parameters<typeof answer>[0];
  readonly taken: () => Promise<void>;
  /** What happens then. */
  readonly children: ReactNode;
}

/** Shows what a person has, such as a session or a passkey, with the button by which an operator takes it away. */
export function OwnedRow({ icon: Icon, name, facts, act, question, take, taken, children }: OwnedRowProps) {
  const { rights } = usePerson();
  return (
    <li>
      <div className="row">
        <Icon aria-hidden />
        <div>
          <strong>{name}</strong>
          <p className="muted">{facts.filter(Boolean).join(" · ")}</p>
        </div>
      </div>
      {rights.write && (
        <ActButton
          act={act}
          label={question}
          title={question}
          isDangerous
          onConfirm={async () => {
            await gone(take());
            await taken();
          }}
        >
          {children}
        </ActButton>
      )}
    </li>
  );
}
