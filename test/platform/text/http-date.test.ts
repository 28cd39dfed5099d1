import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { httpDate, parseHttpDate } from "../../../src/platform/text/http-date.ts";

const NOW = Date.UTC(2026, 10, 20);

describe("dates of HTTP (RFC 9110 section 5.6.7)", () => {
  const second = fc.integer({ min: Date.UTC(1900, 0) / 1000, max: Date.UTC(2999, 11) / 1000 });
  const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

  it("reads any second in all three formats", () => {
    fc.assert(
      fc.property(second, (sec) => {
        const ms = sec * 1000;
        const fixed = httpDate(ms);
        const [, weekday, day, month, year, time] = /^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/.exec(fixed)!;
        const long = WEEKDAYS.find((name) => name.startsWith(weekday!))!;
        // The form with two digits of the year is read in the same year, so it means this century.
        for (const text of [
          fixed,
          `${long}, ${day}-${month}-${year!.slice(2)} ${time} GMT`,
          `${weekday} ${month} ${String(Number(day)).padStart(2, " ")} ${time} ${year}`,
        ])
          expect([text, parseHttpDate(text, ms)]).toEqual([text, ms]);
      }),
    );
  });

  it("reads a year of two digits as at most 50 years ahead", () => {
    const yearOf = (digits: string) =>
      new Date(parseHttpDate(`Monday, 01-Jun-${digits} 00:00:00 GMT`, NOW)!).getUTCFullYear();
    expect(["26", "76", "77", "99", "00"].map(yearOf)).toEqual([2026, 2076, 1977, 1999, 2000]);
  });

  it.each([
    "Fri, 31 Feb 2026 00:00:00 GMT",
    "Fri, 20 Nov 2026 24:00:00 GMT",
    "Fri, 20 Nov 2026 00:60:00 GMT",
    "Fri, 20 Nov 2026 00:00:61 GMT",
    "Fri, 20 Nov 2026 00:00:00 UTC",
    "Fri, 20 Nov 2026 00:00:00",
    "fri, 20 nov 2026 00:00:00 GMT",
    "20 Nov 2026 00:00:00 GMT",
    "Fri Nov 20 00:00:00 26",
    "0",
    "",
  ])("do not include %s", (text) => expect(parseHttpDate(text, NOW)).toBeUndefined());
});
