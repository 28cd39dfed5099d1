import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** The key of the stored theme. `theme.js` reads it before the first drawing. */
const KEY = "plinth-theme";
const listeners = new Set<() => void>();

function read(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function chooseTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset["theme"] = theme;
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    media.removeEventListener("change", listener);
  };
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, read);

/** True if the page is dark now, by choice or by the system. For canvases, which do not see CSS. */
export const useIsDark = (): boolean =>
  useSyncExternalStore(subscribe, () => {
    const theme = read();
    return theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  });
