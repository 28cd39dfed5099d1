import { CircleAlert, CircleCheck, X } from "lucide-react";
import {
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastRegion as ToastRegion,
} from "react-aria-components";
import { useWords } from "../../words/words.ts";
import { Button } from "../button.tsx";
import { queue } from "./toast-queue.ts";

export default function Toasts() {
  const { common } = useWords();
  return (
    <ToastRegion queue={queue} className="toasts">
      {({ toast }) => (
        <Toast toast={toast} className={`toast ${toast.content.kind}`}>
          {toast.content.kind === "done" ? <CircleCheck aria-hidden /> : <CircleAlert aria-hidden />}
          <ToastContent>
            <Text slot="title">{toast.content.text}</Text>
          </ToastContent>
          <Button slot="close" className="icon" aria-label={common.close}>
            <X aria-hidden />
          </Button>
        </Toast>
      )}
    </ToastRegion>
  );
}
