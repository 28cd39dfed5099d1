import { isTag } from "./locale.ts";

/** uPlot makes a format of `navigator.language` when it is loaded, which throws if that is no tag. Import this before it. */
if (!isTag(navigator.language)) Object.defineProperty(navigator, "language", { value: "en-GB", configurable: true });
