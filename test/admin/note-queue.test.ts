import { describe, expect, it } from "vitest";
import { createNoteQueue } from "../../src/admin/audit/note-queue.ts";

function queue(options: { write?: (rows: readonly number[]) => Promise<void> } = {}) {
  const written: (readonly number[])[] = [];
  const lost: number[] = [];
  const pauses: (() => void)[] = [];
  const rows = createNoteQueue<number>(
    { wait: () => new Promise((resolve) => void pauses.push(resolve)), pauseMs: 3_000 },
    options.write ?? (async (list) => void written.push(list)),
    (count) => void lost.push(count),
  );
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  const pass = async () => {
    for (const end of pauses.splice(0)) end();
    await settle();
  };
  return { rows, written, lost, settle, pass };
}

describe("Refusals", () => {
  it("are written at once, and those of the next seconds together", async () => {
    const { rows, written, settle, pass } = queue();
    const first = rows.add(1, 0);
    await settle();
    expect(written).toEqual([[1]]);
    await Promise.all([rows.add(2, 100), rows.add(3, 200), rows.add(4, 2_900)]);
    expect(written).toEqual([[1]]);
    await pass();
    expect(written).toEqual([[1], [2, 3, 4]]);
    await pass();
    await first;
    const next = rows.add(5, 9_000);
    await settle();
    expect(written.at(-1)).toEqual([5]);
    await pass();
    await next;
  });

  it("are taken over by another request if the writing one was ended", async () => {
    const { rows, written, settle } = queue();
    void rows.add(1, 0);
    await rows.add(2, 29_999);
    expect(written).toEqual([[1]]);
    void rows.add(3, 30_000);
    await settle();
    expect(written).toEqual([[1], [2, 3]]);
  });

  it("that are lost are counted: those beyond the room in memory, and those of a write that failed", async () => {
    const { rows, lost, settle, pass } = queue({ write: () => Promise.reject(new Error("D1 is away")) });
    const first = rows.add(0, 0);
    await settle();
    expect(lost).toEqual([1]);
    for (let n = 1; n <= 1_007; n++) await rows.add(n, 1);
    await pass();
    expect(lost).toEqual([1, 7, 1_000]);
    await pass();
    await first;
  });

  it("do not keep one request busy for ever", async () => {
    const { rows, written, settle, pass } = queue();
    const first = rows.add(0, 0);
    await settle();
    for (let n = 1; n <= 5; n++) {
      await rows.add(n, n);
      await pass();
    }
    await pass();
    await first;
    expect(written).toEqual([[0], [1], [2], [3], [4], [5]]);
    void rows.add(6, 10);
    await settle();
    expect(written.at(-1)).toEqual([6]);
  });
});
