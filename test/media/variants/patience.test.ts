import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { expectJson } from "../../support/platform/call.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { collection, stored } from "../support/stored-file.ts";

const never = (): Promise<never> => new Promise(() => {});

/** Images, of which some calls get no answer: those for which `hangs` is true when they begin. */
function hanging(hangs: (call: number) => boolean) {
  let calls = 0;
  const images = {
    input(stream: ReadableStream<Uint8Array>) {
      if (!hangs(++calls)) return env.IMAGES.input(stream);
      const transformer = { transform: () => transformer, output: never };
      return transformer;
    },
  } as unknown as ImagesBinding;
  return { images, calls: () => calls };
}

describe("variants", () => {
  const { attemptMs, trialMs } = LIMITS;
  const as = principal();

  beforeEach(() => void Object.assign(LIMITS, { attemptMs: 1_000, trialMs: 250 }));
  afterEach(() => void Object.assign(LIMITS, { attemptMs, trialMs }));

  const jobsOf = async (app: ReturnType<typeof mediaApp>, count: number) => {
    const png = await encodePng(gradient(50, 50));
    for (let at = 0; at < count; at++) await stored(app, png, { as, query: "?clip=10x10" });
    return app.jobs.splice(0);
  };
  const timed = async <T>(work: () => Promise<T>): Promise<{ took: number; result: T }> => {
    const began = performance.now();
    const result = await work();
    return { took: performance.now() - began, result };
  };

  it("hold up no deletion for long while Images does not answer, and are made soon after that", async () => {
    const state = { hangs: true };
    const { images, calls } = hanging(() => state.hangs);
    const app = mediaApp({ images });
    const jobs = await jobsOf(app, 2);
    const run = () => timed(() => app.consume({ jobs }));

    const first = await run();
    expect(first.result).toEqual({ acked: 0, retried: 2 });
    expect(first.took).toBeGreaterThan(LIMITS.attemptMs - 50);
    expect(calls()).toBe(2);
    // Now the platform knows, and a deletion has its place soon.
    app.clock.nowMs += LIMITS.pauseMs - 1;
    const paused = await timed(() => app.consume({ jobs: [...jobs, { work: "erase", id: "none" }] }));
    expect(paused.result).toEqual({ acked: 1, retried: 2 });
    expect(paused.took).toBeLessThan(LIMITS.trialMs);
    expect(calls()).toBe(2);
    // After a while they are tried again, for a shorter time.
    app.clock.nowMs += 1;
    const trial = await run();
    expect(trial.result).toEqual({ acked: 0, retried: 2 });
    expect(trial.took).toBeLessThan(LIMITS.attemptMs - 50);
    expect(calls()).toBe(4);
    expect((await run()).result).toEqual({ acked: 0, retried: 2 });
    expect(calls()).toBe(4);

    state.hangs = false;
    app.clock.nowMs += LIMITS.pauseMs;
    expect(await app.consume({ jobs })).toEqual({ acked: 2, retried: 0 });
    // One that was made ends the trial.
    state.hangs = true;
    const [next] = await jobsOf(app, 1);
    expect((await timed(() => app.consume({ jobs: [next] }))).took).toBeGreaterThan(LIMITS.attemptMs - 50);
  });

  it("are made beside an image that gets no answer", async () => {
    const { images } = hanging((call) => call === 1);
    const app = mediaApp({ images });
    const [stuck, ...others] = await jobsOf(app, 3);
    expect(await app.consume({ jobs: [stuck, ...others] })).toEqual({ acked: 2, retried: 1 });
    expect(await app.consume({ jobs: [stuck] })).toEqual({ acked: 1, retried: 0 });
    const [variant] = await expectJson(await app.call(`${collection()}/${stuck!.fileId}/variants`, { as }), 200);
    expect(variant.state).toBe("ready");
  });

  it("are paused while the bucket does not answer, too", async () => {
    let calls = 0;
    const app = mediaApp();
    const jobs = await jobsOf(app, 1);
    const bucket = new Proxy(env.MEDIA, {
      get(target, name) {
        if (name === "get") return () => (calls++, never());
        const found: unknown = Reflect.get(target, name);
        return typeof found === "function" ? found.bind(target) : found;
      },
    });
    const down = mediaApp({ bucket });
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await down.consume({ jobs })).toEqual({ acked: 0, retried: 1 });
    expect(calls).toBe(1);
    expect(await app.consume({ jobs })).toEqual({ acked: 1, retried: 0 });
  });
});
