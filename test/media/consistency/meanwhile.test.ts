import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { ConsistencyDeps } from "../../../src/media/consistency/run.ts";
import type { MediaJob } from "../../../src/media/model/job.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { clear, fileId, goodFile, goodVariant, makeFile, makeOwner, makeVariant, nonce, put, run } from "./rows.ts";
import { BY, compare, drain, findingsOf, keeping, laterMs, repair, runner, shortly, type Runner } from "./runner.ts";
import { databaseThrough, type Fault } from "../../support/database-through.ts";
import { casesOf, isSearch } from "../../support/model-runs.ts";

beforeEach(clear);

/**
 * The platform's other work. Each call is one step in the life of a file or variant, in the platform's order: bytes
 * come before the row that needs them. No state in between is a fault.
 */
class Platform {
  readonly #owner: number;
  readonly #lives: Generator<Promise<unknown>>[] = [];
  #steps = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(owner: number) {
    this.#owner = owner;
  }

  /** Does a step of the next life. Each round also begins another life, so that all are at different steps. */
  step(): Promise<unknown> {
    this.#last = this.#last.then(() => this.#step());
    return this.#last;
  }

  async #step(): Promise<void> {
    this.#steps += 1;
    if (this.#lives.length < 4) this.#lives.push(this.#steps % 2 === 0 ? this.#file() : this.#variant());
    const at = (this.#steps * 7) % this.#lives.length;
    const next = this.#lives[at]!.next();
    if (next.done === true) this.#lives.splice(at, 1);
    else await next.value;
  }

  *#file(): Generator<Promise<unknown>> {
    const id = fileId();
    const copied = this.#steps % 4 === 0;
    const place = copied ? `blob/${id}.c` : `blob/${id}`;
    let etag = "";
    yield makeFile({ owner: this.#owner, id, state: "pending", ...(copied ? { blobKey: place } : {}) });
    yield put(`incoming/${id}`, "x");
    yield put(place, "x").then((object) => (etag = object.etag));
    yield env.MEDIA.delete(`incoming/${id}`);
    yield run("UPDATE file SET state = 'committed', size_bytes = 1, etag = ?2 WHERE id = ?1", id, etag);
    yield run("UPDATE file SET state = 'removed' WHERE id = ?1", id);
    yield env.MEDIA.delete(place);
    yield run("DELETE FROM file WHERE id = ?1", id);
  }

  *#variant(): Generator<Promise<unknown>> {
    let [file, name] = ["", ""];
    yield goodFile(this.#owner).then((id) => (file = id));
    yield makeVariant(file, "pending").then((made) => (name = made));
    yield put(`variant/${file}/${name}`, "x");
    yield run("UPDATE variant SET state = 'ready', size_bytes = 1 WHERE nonce = ?1", name);
    yield run("UPDATE variant SET state = 'removed' WHERE nonce = ?1", name);
    yield env.MEDIA.delete(`variant/${file}/${name}`);
    yield run("DELETE FROM variant WHERE nonce = ?1", name);
  }
}

/** Runs other work before and after each read of a run. */
const withOthers =
  (others: Platform, steps: number) =>
  (context: ConsistencyDeps): ConsistencyDeps => {
    const between = <A extends unknown[], T>(call: (...given: A) => Promise<T>) => {
      return async (...given: A): Promise<T> => {
        for (let step = 0; step < steps; step++) await others.step();
        const answer = await call(...given);
        for (let step = 0; step < steps; step++) await others.step();
        return answer;
      };
    };
    const { blobs, expected } = context;
    return {
      ...context,
      blobs: { ...blobs, listPage: between(blobs.listPage), head: between(blobs.head) },
      expected: { ...expected, page: between(expected.page), named: between(expected.named) },
    };
  };

describe("a run while files come and go", () => {
  it.each(casesOf([3, 1], 1))("finds the faults and nothing else (%i steps between two reads)", async (steps) => {
    const owner = await makeOwner();
    const others = new Platform(owner);
    const faults: string[] = [];
    for (let at = 0; at < 5; at++) {
      for (let step = 0; step < 10; step++) await others.step();
      faults.push(`missing_bytes blob/${await makeFile({ owner, sizeBytes: 1, etag: "e" })}`);
      const orphan = `blob/${fileId()}`;
      await put(orphan, "x");
      const file = await goodFile(owner);
      faults.push(`orphan_object ${orphan}`, `missing_variant variant/${file}/${await makeVariant(file, "ready", 5)}`);
    }
    const busy = runner({ limits: { pageKeys: 16 }, wrap: withOthers(others, steps) });
    const id = await compare(busy);
    const found = shortly(await findingsOf(busy, id));
    expect(found).toEqual(faults.toSorted());
    await repair(busy, id);
    const quiet = runner();
    expect(shortly(await findingsOf(quiet, await compare(quiet)))).toEqual([]);
  });
});

/** The time of a change between the reads of a run: after the first listing, page of rows, named rows, or head. */
type At = "list" | "page" | "named" | "head";
const happens =
  (events: Partial<Record<At, () => Promise<unknown>>>) =>
  (context: ConsistencyDeps): ConsistencyDeps => {
    const then = <A extends unknown[], T>(at: At, call: (...given: A) => Promise<T>) => {
      return async (...given: A): Promise<T> => {
        const answer = await call(...given);
        const event = events[at];
        delete events[at];
        await event?.();
        return answer;
      };
    };
    const { blobs, expected } = context;
    return {
      ...context,
      blobs: { ...blobs, listPage: then("list", blobs.listPage), head: then("head", blobs.head) },
      expected: { ...expected, page: then("page", expected.page), named: then("named", expected.named) },
    };
  };

describe("a run does not report", () => {
  let owner: number;
  const commit = (id: string, etag: string) =>
    run("UPDATE file SET state = 'committed', size_bytes = 1, etag = ?2 WHERE id = ?1", id, etag);
  const remove = (id: string) => run("UPDATE file SET state = 'removed' WHERE id = ?1", id);
  const forget = (id: string) => run("DELETE FROM file WHERE id = ?1", id);
  beforeEach(async () => void (owner = await makeOwner()));

  async function expectNothing(events: Parameters<typeof happens>[0], pageKeys = 1000): Promise<void> {
    const hurried = runner({ limits: { pageKeys }, wrap: happens(events) });
    expect(await findingsOf(hurried, await compare(hurried))).toEqual([]);
    expect(events).toEqual({});
  }

  it("a file that is uploaded and committed after the listing", async () => {
    const id = await makeFile({ owner, state: "pending" });
    await expectNothing({ list: async () => commit(id, (await put(`blob/${id}`, "x")).etag) });
  });

  it("a file that is removed, with its bytes, after it was listed", async () => {
    const id = await goodFile(owner);
    await expectNothing({
      list: async () => {
        await remove(id);
        await env.MEDIA.delete(`blob/${id}`);
        await forget(id);
      },
    });
  });

  it("a file that is created and removed between two reads", async () => {
    const id = await makeFile({ owner, state: "pending" });
    await expectNothing({
      list: async () => commit(id, (await put(`blob/${id}`, "x")).etag),
      named: async () => {
        await remove(id);
        await env.MEDIA.delete(`blob/${id}`);
      },
    });
  });

  it("one of several objects of a removed file that is deleted last", async () => {
    const id = fileId();
    await makeFile({ owner, id, state: "removed", blobKey: `blob/${id}.a` });
    for (const key of [`blob/${id}.a`, `blob/${id}.b`]) await put(key, "x");
    await expectNothing(
      {
        head: async () => {
          await env.MEDIA.delete([`blob/${id}.a`, `blob/${id}.b`]);
          await forget(id);
        },
      },
      1,
    );
  });
});

/** Makes faults of all kinds, with good files around them. */
async function smallWorld(times = 3): Promise<string[]> {
  const owner = await makeOwner();
  const faults: string[] = [];
  for (let at = 0; at < times; at++) {
    const file = await goodFile(owner);
    await goodVariant(file);
    faults.push(`missing_bytes blob/${await makeFile({ owner, sizeBytes: 1, etag: "e" })}`);
    faults.push(`missing_variant variant/${file}/${await makeVariant(file, "ready", 5)}`);
    for (const key of [`blob/${fileId()}`, `variant/${file}/${nonce()}`, `incoming/${fileId()}`]) {
      await put(key, "x");
      faults.push(`orphan_object ${key}`);
    }
  }
  return faults.toSorted();
}

const LIMITED = { pageKeys: 4, suspects: 2, repairs: 4 } as const;
const countsOf = (times: number) => ({ orphan_object: times * 3, missing_bytes: times, missing_variant: times });

async function expectAllDone(all: Runner, id: string, faults: readonly string[]): Promise<void> {
  const counts = countsOf(faults.length / 5);
  const findings = await findingsOf(all, id);
  expect(shortly(findings)).toEqual(faults);
  expect(findings.every(({ outcome }) => outcome === "repaired")).toBe(true);
  expect(await all.consistency.find(id)).toMatchObject({ state: "repaired", repaired: counts, found: counts });
  const clean = runner();
  expect(await findingsOf(clean, await compare(clean))).toEqual([]);
}

describe("messages of a run", () => {
  it("change nothing when they arrive twice, at once or later, and do not multiply", async () => {
    const faults = await smallWorld();
    const all = runner({ limits: LIMITED });
    const nowMs = laterMs();
    const taken: string[] = [];
    const takeAll = async (): Promise<void> => {
      while (all.messages.some((message) => "work" in message)) {
        const messages = all.messages.splice(0).flatMap((message) => ("work" in message ? [message] : []));
        expect(messages.length).toBeLessThanOrEqual(2);
        taken.push(...messages.map(({ id }) => id));
        await Promise.all([...messages, ...messages].map(({ id }) => all.consistency.step(id, nowMs)));
      }
    };
    const started = await all.consistency.start({ ...BY, nowMs });
    const id = started.ok ? started.value.id : "";
    await takeAll();
    for (const late of taken) await all.consistency.step(late, nowMs);
    expect(await all.consistency.find(id)).toMatchObject({ state: "done", found: countsOf(3) });
    await all.consistency.repair(id, { ...BY, nowMs });
    await takeAll();
    await expectAllDone(all, id, faults);
  });

  it("are sent again by the sweep when they are lost", async () => {
    const faults = await smallWorld();
    const all = runner({ limits: LIMITED });
    let nowMs = laterMs();
    const id = await (async () => {
      const started = await all.consistency.start({ ...BY, nowMs });
      return started.ok ? started.value.id : "";
    })();
    const goOn = async (until: string): Promise<void> => {
      for (let step = 0; (await all.consistency.find(id))?.state !== until; step++) {
        expect(step).toBeLessThan(100);
        all.messages.length = 0;
        expect(await all.consistency.sweep(nowMs + LIMITS.consistency.stalledMs - 1)).toBe(0);
        nowMs += LIMITS.consistency.stalledMs;
        expect(await all.consistency.sweep(nowMs)).toBe(1);
        expect(all.messages).toEqual([{ work: "compare", id }]);
        await all.consistency.step(id, nowMs);
      }
    };
    await goOn("done");
    await all.consistency.repair(id, { ...BY, nowMs });
    await goOn("repaired");
    expect(await all.consistency.sweep(nowMs + 86_400_000)).toBe(0);
    await expectAllDone(all, id, faults);
  });
});

describe("faults of R2, D1 and the queue", () => {
  it("repeat the step, at every call, with the same result", async () => {
    let calls = 0;
    for (let failing = 1; ; failing += isSearch ? 5 : 17) {
      await clear();
      const faults = await smallWorld(1);
      calls = 0;
      let hasFailed = false;
      /** The n-th call fails, alternately before and after it takes effect. */
      const failOnce = async <T>(call: () => Promise<T>): Promise<T> => {
        calls += 1;
        const fails = calls === failing;
        hasFailed ||= fails;
        if (fails && failing % 2 === 0) throw new Error("injected");
        const answer = await call();
        if (fails) throw new Error("injected: the answer is lost");
        return answer;
      };
      const shaky = runner({
        limits: LIMITED,
        db: databaseThrough(failOnce),
        bucket: failingMethods(env.MEDIA, failOnce),
        queue: (messages) => failingMethods(keeping(messages), failOnce),
      });
      const id = await throughFaults(shaky);
      await expectAllDone(runner(), id, faults);
      if (!hasFailed) break;
    }
    expect(calls).toBeGreaterThan(50);
  });
});

/** Runs and retries, as the operator and the queue do. */
async function throughFaults(shaky: Runner): Promise<string> {
  const nowMs = laterMs();
  const again = async <T>(call: () => Promise<T>): Promise<T> => call().catch(() => call());
  const settle = async (): Promise<void> => {
    const lost = await again(() => shaky.consistency.sweep(nowMs + LIMITS.consistency.stalledMs));
    if (lost === 0 && shaky.messages.length === 0) return;
    for (let message = shaky.messages.shift(); message !== undefined; message = shaky.messages.shift())
      if ("work" in message)
        await again(() => shaky.consistency.step((message as MediaJob & { id: string }).id, nowMs));
  };
  const started = await again(() => shaky.consistency.start({ ...BY, nowMs }));
  if (!started.ok) throw new Error(started.error);
  await settle();
  await again(() => shaky.consistency.repair(started.value.id, { ...BY, nowMs }));
  await settle();
  await drain(shaky, nowMs);
  return started.value.id;
}

function failingMethods<T extends object>(real: T, fault: Fault): T {
  return new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as (...given: unknown[]) => Promise<unknown>;
      return typeof value === "function" ? (...given: unknown[]) => fault(() => value.apply(target, given)) : value;
    },
  });
}
