import { vi } from "vitest";

/** Time stands still from now on, or from so much later, until it is moved by the returned function. */
export function frozenTime(laterMs = 0): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + laterMs });
  return (ms) => void vi.setSystemTime(Date.now() + ms);
}
