import { useState, type ReactNode } from "react";
import { Button } from "../button.tsx";
import { Confirm } from "../dialogs.tsx";

interface ActButtonProps {
  /** The button's words, and those of the dialog's. */
  readonly act: string;
  /** What a screen reader says, if several buttons have the same words. */
  readonly label?: string;
  /** The question. */
  readonly title: string;
  /** What happens. */
  readonly children: ReactNode;
  readonly isDangerous?: boolean;
  readonly onConfirm: () => Promise<unknown>;
}

/** A button that asks before it does something. */
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
