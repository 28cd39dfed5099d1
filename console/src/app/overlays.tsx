import { BookOpen, CircleAlert, LogOut, UserRound, X } from "lucide-react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { Button } from "../components/button.tsx";
import { PLATFORM_URL } from "../session/config.ts";
import { signOut, usePerson } from "../session/session.ts";
import { useSignInAgain } from "../session/use-sign-in-again.ts";
import { useWords } from "../words/words.ts";
import { Preferences } from "./preferences.tsx";
import { Brand, Places } from "./shell.tsx";

/** The properties of an overlay. */
interface OverlayProps {
  readonly close: () => void;
}

/** The navigation of a narrow screen. */
export function Drawer({ close }: OverlayProps) {
  const { common } = useWords();
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={close}>
      <Modal className="drawer">
        <Dialog aria-label={common.navigation}>
          <div className="drawer-head">
            <Brand />
            <Button className="icon" aria-label={common.close} onPress={close}>
              <X aria-hidden />
            </Button>
          </div>
          <Places onChosen={close} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Shows who is signed in, with the preferences and the sign-out. */
export function PersonCard({ close }: OverlayProps) {
  const { common } = useWords();
  const { user, organization } = usePerson();
  return (
    <ModalOverlay className="overlay light" isOpen isDismissable onOpenChange={close}>
      <Modal className="person-card">
        <Dialog>
          <Heading slot="title">{user}</Heading>
          <p className="muted">{common.organizationOf(organization)}</p>
          <Preferences />
          <div className="person-links">
            <a href={`${PLATFORM_URL}/account`}>
              <UserRound aria-hidden /> {common.account}
            </a>
            <a href={`${PLATFORM_URL}/docs`}>
              <BookOpen aria-hidden /> {common.documentation}
            </a>
            <Button className="plain" onPress={() => void signOut()}>
              <LogOut aria-hidden /> {common.signOut}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Asks to sign in again, above the page. The page keeps its input, and its requests wait. */
export function Expired() {
  const { session: words } = useWords();
  const [again, failure] = useSignInAgain();
  return (
    <ModalOverlay className="overlay" isOpen>
      <Modal className="dialog">
        <Dialog role="alertdialog">
          <Heading slot="title">{words.expiredTitle}</Heading>
          <p>{words.expiredText}</p>
          {failure !== undefined && (
            <div className="form-alert" role="alert">
              <CircleAlert aria-hidden />
              <div>
                <strong>{words.failedTitle}</strong>
                <p>{failure}</p>
              </div>
            </div>
          )}
          <div className="buttons end">
            <Button className="primary" autoFocus onPress={again}>
              {words.again}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
