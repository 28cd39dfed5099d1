import { media as de } from "../../words/de/media.ts";
import { media as en } from "../../words/en/media.ts";
import type { Same } from "../../words/same.ts";
import { useLanguage } from "../../words/words.ts";

const TABLES: Readonly<Record<ReturnType<typeof useLanguage>, Same<typeof en>>> = { en, de };

/** The texts of these pages. They are loaded with the pages, so that the first view stays small. */
export const useMediaWords = (): Same<typeof en> => TABLES[useLanguage()];
