import { vi } from "vitest";

/** Stops the clock now, or at a later time, until the returned function moves it. */
export function frozenTime(laterMs = 0): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + laterMs });
  return (ms) => void vi.setSystemTime(Date.now() + ms);
}

/** Stops the clock at a later time, or moves it on if it stands. */
export const letTimePass = (ms: number): void => void frozenTime(ms);
