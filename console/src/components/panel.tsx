import { X } from "lucide-react";
import { useRef, useState, type ReactNode } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { useWords } from "../words/words.ts";
import { Button } from "./button.tsx";
import { Discard, SentFromPanel, type Unsent } from "./forms/typed.tsx";
import { Waiting } from "./waiting.tsx";

interface PanelProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly close: () => void;
  /** For content that is no form and sends a change. */
  readonly isSending?: boolean;
  readonly children: ReactNode;
}

/**
 * A dialog with content of its own, such as a form. It asks before Escape, or its button for phones, throws away what
 * was typed, and stays while a change is sent: its answer would be lost.
 */
export function Panel({ title, isOpen, isSending = false, close, children }: PanelProps) {
  const { common } = useWords();
  const unsent = useRef<Unsent>("nothing");
  const [isAsking, ask] = useState(false);
  function leave(): void {
    if (unsent.current === "typed") ask(true);
    else if (unsent.current === "nothing" && !isSending) close();
  }
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => !open && leave()}>
      <Modal className="dialog">
        <Dialog>
          <div className="panel-head">
            <Heading slot="title">{title}</Heading>
            <Button className="icon" aria-label={common.close} onPress={leave}>
              <X aria-hidden />
            </Button>
          </div>
          <Waiting />
          <SentFromPanel value={unsent}>{children}</SentFromPanel>
          {isAsking && <Discard keep={() => ask(false)} discard={close} />}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
