import { encode } from "uqr";
import { html, type Markup } from "./markup.ts";

/** The width of the light border in modules (ISO/IEC 18004 9.1). Cameras do not find a code without it. */
const QUIET = 4;

/** Draws a QR code as SVG within the page, so it needs no picture of another address and no script. */
export function qrCode(text: string, label: string): Markup {
  const { data, size } = encode(text.toWellFormed(), { border: QUIET });
  const path = data.flatMap((row, y) =>
    row.flatMap((isDark, x) =>
      isDark && row[x - 1] !== true ? [`M${x} ${y}h${runOf(row, x)}v1h-${runOf(row, x)}z`] : [],
    ),
  );
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}">
    <path d="${path.join("")}" />
  </svg>`;
}

/** Returns the number of consecutive dark modules from `from` on. */
function runOf(row: readonly boolean[], from: number): number {
  const end = row.indexOf(false, from);
  return (end === -1 ? row.length : end) - from;
}
