import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchdog } from "../../src/gateway/model/watchdog.ts";

const late = vi.fn<() => void>();

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  late.mockReset();
});
afterEach(() => void vi.useRealTimers());

describe("a watchdog", () => {
  it("ends a wait that is too long, and only once", () => {
    const dog = watchdog(100, late);
    dog.begin();
    vi.advanceTimersByTime(99);
    expect(late).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(late).toHaveBeenCalledOnce();
  });

  it("does not fire after the end of a wait", () => {
    const dog = watchdog(100, late);
    dog.begin();
    dog.end();
    vi.advanceTimersByTime(1_000);
    expect([late.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it("gives each wait its whole time with one timer", () => {
    const dog = watchdog(100, late);
    for (let wait = 0; wait < 5; wait++) {
      dog.begin();
      expect(vi.getTimerCount()).toBe(1);
      vi.advanceTimersByTime(90);
      dog.end();
    }
    dog.begin();
    vi.advanceTimersByTime(99);
    expect(late).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(late).toHaveBeenCalledOnce();
  });

  it("does not wait longer if the clock was set back", () => {
    watchdog(100, late).begin();
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(100);
    expect(late).toHaveBeenCalledOnce();
  });
});
