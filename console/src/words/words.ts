import { useSyncExternalStore } from "react";
import type { Same } from "./same.ts";

type Words = Same<typeof import("./en/index.ts")>;
export type Language = "en" | "de";

/** The name of each language, in that language. */
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

/**
 * Loads the texts of the chosen language, else of the first available one of the browser. Runs before the first
 * drawing.
 */
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
