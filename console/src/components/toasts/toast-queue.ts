import { UNSTABLE_ToastQueue as ToastQueue } from "react-aria-components";

export interface Said {
  readonly text: string;
  readonly kind: "done" | "failed";
}

export const queue = new ToastQueue<Said>({ maxVisibleToasts: 3 });
