import { useRef, useState, type ReactNode } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { Discard, TypedInPanel } from "./forms/typed.tsx";

interface PanelProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly close: () => void;
  readonly children: ReactNode;
}

/** A dialog with content of its own, such as a form. It asks before Escape throws away what was typed. */
export function Panel({ title, isOpen, close, children }: PanelProps) {
  const typed = useRef(false);
  const [isAsking, ask] = useState(false);
  const escape = () => (typed.current ? ask(true) : close());
  return (
    <ModalOverlay className="overlay" isOpen={isOpen} onOpenChange={(open) => !open && escape()}>
      <Modal className="dialog">
        <Dialog>
          <Heading slot="title">{title}</Heading>
          <TypedInPanel value={typed}>{children}</TypedInPanel>
          {isAsking && <Discard keep={() => ask(false)} discard={close} />}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
