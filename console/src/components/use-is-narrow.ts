import { useSyncExternalStore } from "react";

const query = matchMedia("(max-width: 700px)");

/** True on the screen of a phone. */
export const useIsNarrow = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      query.addEventListener("change", listener);
      return () => query.removeEventListener("change", listener);
    },
    () => query.matches,
  );
