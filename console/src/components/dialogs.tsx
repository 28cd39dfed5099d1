import { useState, type ReactNode } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { FaultNotice } from "../app/faults.tsx";
import { useWords } from "../words/words.ts";
import { Button } from "./button.tsx";
import { Waiting } from "./waiting.tsx";

interface ConfirmProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly close: () => void;
  /** The consequence, and whether it can be undone. */
  readonly children: ReactNode;
  /** The text of the button: the act, not "yes". */
  readonly act: string;
  readonly isDangerous?: boolean;
  /** Carries out the act. If it throws, the dialog stays open and shows the error. */
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before something that cannot be undone. */
export function Confirm({ title, isOpen, close, children, act, isDangerous = false, onConfirm }: ConfirmProps) {
  const { common } = useWords();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  async function confirm(): Promise<void> {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      close();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  }
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => !open && !isBusy && close()}>
      <Modal className="dialog">
        <Dialog role="alertdialog">
          <Heading slot="title">{title}</Heading>
          <Waiting />
          <div className="dialog-text">{children}</div>
          {error !== undefined && <FaultNotice error={error} />}
          <div className="buttons end">
            <Button autoFocus onPress={close} isDisabled={isBusy}>
              {common.cancel}
            </Button>
            <Button className={isDangerous ? "danger" : "primary"} isPending={isBusy} onPress={() => void confirm()}>
              {act}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
