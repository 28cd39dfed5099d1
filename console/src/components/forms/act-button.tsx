import { useState, type ReactNode } from "react";
import { gone, type answer } from "../../api/client.ts";
import { useWords } from "../../words/words.ts";
import { Button } from "../button.tsx";
import { Confirm } from "../dialogs.tsx";
import { say } from "../toasts/say.ts";

interface ActButtonProps {
  /** The text of the button, and of the button in the dialog. */
  readonly act: string;
  /** The text for screen readers, if several buttons have the same text. */
  readonly label?: string;
  /** The question. */
  readonly title: string;
  /** The consequence. */
  readonly children: ReactNode;
  readonly isDangerous?: boolean;
  readonly onConfirm: () => Promise<unknown>;
}

/** A button that asks for confirmation before it acts. */
export function ActButton({ act, label, title, children, isDangerous = false, onConfirm }: ActButtonProps) {
  const [isOpen, open] = useState(false);
  return (
    <>
      <Button {...(label !== undefined && { "aria-label": label })} onPress={() => open(true)}>
        {act}
      </Button>
      {isOpen && (
        <Confirm
          title={title}
          isOpen
          close={() => open(false)}
          act={act}
          isDangerous={isDangerous}
          onConfirm={onConfirm}
        >
          {children}
        </Confirm>
      )}
    </>
  );
}

interface DeleteButtonProps {
  /** What a person calls it. */
  readonly name: string;
  /** The page has such a button for others too. */
  readonly isOfMany?: boolean;
  readonly remove: () => Parameters<typeof answer>[0];
  /** What goes with it. */
  readonly children: ReactNode;
  /** Once it is gone. */
  readonly after: () => Promise<unknown>;
}

/** Asks, deletes and says so. */
export function DeleteButton({ name, isOfMany = false, remove, children, after }: DeleteButtonProps) {
  const { common } = useWords();
  return (
    <ActButton
      act={common.remove}
      {...(isOfMany && { label: `${common.remove}: ${name}` })}
      title={common.deleteTitle(name)}
      isDangerous
      onConfirm={async () => {
        await gone(remove());
        say.done(common.deleted(name));
        await after();
      }}
    >
      {children}
    </ActButton>
  );
}
