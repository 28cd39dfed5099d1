import { useEffect, useMemo, useRef, useState } from "react";
import "../words/browser-language.ts";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useIsDark } from "../app/theme.ts";
import { useFormats } from "../words/formats.ts";
import { useWords } from "../words/words.ts";

export interface ChartSeries {
  readonly name: string;
  /** A value for each time; null if nothing was measured. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** The text for screen readers. */
  readonly label: string;
  /** The beginning of each step, in milliseconds since 1970. */
  readonly times: readonly number[];
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
}

/** As in `overview.css`. */
const HEIGHT_REM = 12.7;
const COLOURS = 6;

/** Lines over time, with the same numbers as a table. */
export default function Chart({ label, times, series, format }: ChartProps) {
  const { overview: words } = useWords();
  const { moment, locale } = useFormats();
  const isDark = useIsDark();
  const [at, setAt] = useState<number | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const data = useMemo(
    () => [times.map((ms) => ms / 1_000), ...series.map(({ values }) => [...values])] as unknown as uPlot.AlignedData,
    [times, series],
  );

  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const colour = (name: string) => resolved(style.getPropertyValue(name), isDark);
    const grid = { stroke: colour("--line"), width: 1 };
    // A canvas does not know how large the letters of the page are.
    const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    const font = `${0.8 * rem}px system-ui, sans-serif`;
    const axis = { stroke: colour("--muted"), font, grid, ticks: { show: false } };
    const sizeNow = () => ({ width: element.clientWidth, height: Math.round(HEIGHT_REM * rem) });
    const plot = new uPlot(
      {
        ...sizeNow(),
        padding: [null, 1.15 * rem, null, null],
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { size: 7 } },
        hooks: { setCursor: [({ cursor: { idx } }) => setAt(idx ?? null)] },
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [
          { ...axis, size: 1.9 * rem, space: 4.7 * rem, values: (_, splits) => timesOf(splits, locale) },
          { ...axis, size: 4.1 * rem, space: 2.5 * rem, values: (_, splits) => splits.map((value) => format(value)) },
        ],
        series: [
          {},
          ...series.map((__, index) => ({
            stroke: colour(`--series-${(index % COLOURS) + 1}`),
            width: 1.75,
            spanGaps: true,
            points: { show: series[index]!.values.filter((value) => value !== null).length < 12, size: 5 },
          })),
        ],
      },
      data,
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize(sizeNow()));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [data, series, times, isDark, format, locale]);

  if (series.length === 0) return <p className="chart-frame muted">{words.nothingYet}</p>;
  return (
    <div className="chart">
      <div ref={frame} role="img" aria-label={label} className="chart-frame" />
      <ul className="legend">
        {series.map(({ name, values }, index) => (
          <li key={name}>
            <i className={`swatch colour-${(index % COLOURS) + 1}`} />
            {name}
            {at !== null && <b>{valueOf(values[at], format)}</b>}
          </li>
        ))}
        {at !== null && times[at] !== undefined && <li className="muted">{moment(times[at])}</li>}
      </ul>
      <details>
        <summary>{words.asTable}</summary>
        <div className="scroll-x table-of-chart" tabIndex={0} role="region" aria-label={label}>
          <table className="plain-table">
            <thead>
              <tr>
                <th>{words.time}</th>
                {series.map(({ name }) => (
                  <th key={name} className="end">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((ms, row) => (
                <tr key={ms}>
                  <td>{moment(ms)}</td>
                  {series.map(({ name, values }) => (
                    <td key={name} className="end">
                      {valueOf(values[row], format)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </div>
  );
}

const valueOf = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? "–" : format(value);

/** The colour of the present theme, since a canvas does not know `light-dark()`. */
function resolved(value: string, isDark: boolean): string {
  const [, light = value, dark = value] = /light-dark\(([^,]+),\s*([^)]+)\)/.exec(value) ?? [];
  return (isDark ? dark : light).trim();
}

function timesOf(seconds: readonly number[], locale: string): string[] {
  const span = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0);
  const format = new Intl.DateTimeFormat(
    locale,
    span > 172_800 ? { day: "numeric", month: "short" } : { hour: "2-digit", minute: "2-digit" },
  );
  return seconds.map((second) => format.format(second * 1_000));
}
