/** Formats a date of HTTP (RFC 9110 section 5.6.7). */
export const httpDate = (ms: number): string => new Date(ms).toUTCString();

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;
const FORMS = [
  // IMF-fixdate, which everybody sends, and the two obsolete formats.
  new RegExp(String.raw`^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) ${TIME} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) ${TIME} GMT$`),
  new RegExp(String.raw`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) ${TIME} (?<year>\d{4})$`),
];

/** Parses a date to ms. Undefined for any other text or an impossible day: the header is then ignored. */
export function parseHttpDate(text: string | null, nowMs: number): number | undefined {
  const found = FORMS.map((form) => form.exec(text?.trim() ?? "")?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return undefined;
  const [day, hour, minute, second] = ["day", "hour", "minute", "second"].map((name) => Number(found[name]));
  const month = MONTHS.indexOf(found["month"] ?? "");
  const year = fullYear(found["year"] ?? "", nowMs);
  const date = new Date(Date.UTC(year, month, day, hour, minute, Math.min(second!, 59)));
  const isDate = date.getUTCMonth() === month && date.getUTCDate() === day && date.getUTCHours() === hour;
  return isDate && minute! < 60 && second! <= 60 ? date.getTime() : undefined;
}

/** Completes two digits to a year of this century, or of the last one if that is more than 50 years ahead. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
