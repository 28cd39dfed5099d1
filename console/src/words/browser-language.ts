import { isTag } from "./locale.ts";

/**
 * Replaces a `navigator.language` that is not a language tag: uPlot would throw when it is loaded. Import this first.
 */
if (!isTag(navigator.language)) Object.defineProperty(navigator, "language", { value: "en-GB", configurable: true });
