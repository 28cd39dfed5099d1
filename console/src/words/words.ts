import { useSyncExternalStore } from "react";
import type { Same } from "./same.ts";

type Words = Same<typeof import("./en/index.ts")>;
export type Language = "en" | "de";

/** Each language in its own words. */
export const LANGUAGES: Readonly<Record<Language, string>> = { en: "English", de: "Deutsch" };

const TABLES: Readonly<Record<Language, () => Promise<Words>>> = {
  en: () => import("./en/index.ts"),
  de: () => import("./de/index.ts"),
};
const CHOSEN = "plinth-language";

interface State {
  readonly language: Language;
  readonly words: Words;
}

let state: State | undefined;
const listeners = new Set<() => void>();

/** Loads the table of the chosen language, or of the browser's first one that there is. Before anything is drawn. */
export async function loadWords(): Promise<void> {
  const wanted = [localStorage.getItem(CHOSEN), ...navigator.languages].map((tag) => tag?.slice(0, 2));
  await speak(wanted.find((tag) => tag === "en" || tag === "de") ?? "en");
}

export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(CHOSEN, language);
  await speak(language);
}

async function speak(language: Language): Promise<void> {
  state = { language, words: await TABLES[language]() };
  document.documentElement.lang = language;
  for (const listener of listeners) listener();
}

function now(): State {
  if (state === undefined) throw new Error("the words are not loaded");
  return state;
}

const useState = (): State =>
  useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, now);

export const useWords = (): Words => useState().words;
export const useLanguage = (): Language => useState().language;
