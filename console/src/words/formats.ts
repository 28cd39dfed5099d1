import { useMemo } from "react";
import { localeOf } from "./locale.ts";
import { useLanguage } from "./words.ts";

/** Formats of numbers, sizes and times for the person's language and region. */
export function useFormats() {
  const language = useLanguage();
  return useMemo(() => {
    const locale = localeOf(language, navigator.languages);
    const number = new Intl.NumberFormat(locale);
    const short = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
    const rate = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 2 });
    const percent = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 2 });
    const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
    const time = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });
    const moment = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
    const countries = new Intl.DisplayNames(locale, { type: "region" });
    const languages = new Intl.DisplayNames(locale, { type: "language" });
    const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
    return {
      locale,
      number: (value: number) => number.format(value),
      /** `1.2M` */
      short: (value: number) => short.format(value),
      /** `0.017` */
      rate: (value: number) => rate.format(value),
      percent: (share: number) => percent.format(share),
      bytes: (value: number) => bytesOf(value, locale),
      day: (ms: number) => day.format(ms),
      time: (ms: number) => time.format(ms),
      moment: (ms: number) => moment.format(ms),
      /** `Germany` for `DE`. The code comes from outside, so it may be anything. */
      country: (code: string) => (/^[a-z]{2}$/i.test(code) ? (countries.of(code) ?? code) : code),
      /** `British English (en-GB)` */
      language: (tag: string) => `${languages.of(tag) ?? tag} (${tag})`,
      ms: (value: number) =>
        value < 1_000 ? `${number.format(Math.round(value))} ms` : `${short.format(value / 1_000)} s`,
      /** `3 minutes ago` */
      ago(ms: number) {
        const seconds = (ms - Date.now()) / 1_000;
        for (const [unit, size] of UNITS)
          if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
        return relative.format(0, "second");
      },
    };
  }, [language]);
}

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

function bytesOf(value: number, locale: string): string {
  const names = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const at = Math.min(names.length - 1, Math.floor(Math.log10(Math.max(1, value)) / 3));
  const format = new Intl.NumberFormat(locale, {
    style: "unit",
    unit: names[at],
    // "0 byte" is no English.
    unitDisplay: at === 0 ? "long" : "short",
    maximumFractionDigits: 1,
  });
  return format.format(value / 1_000 ** at);
}
