import { media as de } from "../../words/de/media.ts";
import { media as en } from "../../words/en/media.ts";
import type { Same } from "../../words/same.ts";
import { useLanguage } from "../../words/words.ts";

const TABLES: Readonly<Record<ReturnType<typeof useLanguage>, Same<typeof en>>> = { en, de };

/** The words of these pages. They come with the pages, since the first view has no room for them. */
export const useMediaWords = (): Same<typeof en> => TABLES[useLanguage()];
