import { useSyncExternalStore } from "react";

/** 700 px with letters of the usual size. */
const query = matchMedia("(max-width: 43.75em)");

/** True on the screen of a phone. */
export const useIsNarrow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => query.matches,
  );
