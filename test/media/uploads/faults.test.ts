import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp } from "../support/media-app.ts";
import { expectProblem } from "../support/problem.ts";
import { BINARY, bytesOf, chunked, create, withLength } from "../support/upload-bodies.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { withMethods } from "../support/faults.ts";

const app = mediaApp();

describe("a failure of the storage", () => {
  it("returns 503 and stores nothing; the link still works", async () => {
    const bucket = {
      head: (key: string) => env.MEDIA.head(key),
      put: () => Promise.reject(new Error("injected: put: internal error (10001)")),
    } as unknown as R2Bucket;
    const broken = mediaApp({ bucket });
    const { uploadLink } = await create(broken);
    for (const init of [
      { body: bytesOf(9), headers: withLength(9) },
      { body: chunked(9), headers: BINARY },
    ]) {
      const answer = await broken.call(uploadLink, { method: "PUT", ...init });
      await expectProblem(answer, 503, "service_temporarily_unavailable");
      expect(answer.headers.get("retry-after")).toMatch(/^([5-9]|10)$/);
    }
    expect((await app.call(uploadLink, { method: "PUT", body: "x", headers: BINARY })).status).toBe(200);
  });

  it("is not blamed on the caller if it occurs within a body", async () => {
    const bucket = withMethods({
      async put(_key: string, body: ReadableStream<Uint8Array>) {
        const reader = body.getReader();
        await reader.read();
        await reader.cancel();
        // The pipe notices within this time.
        await scheduler.wait(20);
        throw new Error("injected: put: internal error (10001)");
      },
    });
    const { id, uploadLink } = await create(app);
    for (const length of [500_000, LIMITS.partBytes * 3]) {
      const init = { method: "PUT", body: chunked(length), headers: withLength(length) };
      const answer = await mediaApp({ bucket }).call(uploadLink, init);
      await expectProblem(answer, 503, "service_temporarily_unavailable");
    }
    expect(await keysOf(id)).toEqual([]);
  });

  it("is not blamed on the caller if a collected upload cannot be read back", async () => {
    const bucket = withMethods({
      async get(key: string) {
        const { size } = (await env.MEDIA.head(key))!;
        return { size, body: chunked(size, 300_000) };
      },
    });
    const { id, uploadLink } = await create(app);
    const init = { method: "PUT", body: chunked(LIMITS.partBytes * 2), headers: BINARY };
    await expectProblem(await mediaApp({ bucket }).call(uploadLink, init), 503, "service_temporarily_unavailable");
    expect(await keysOf(id)).toEqual([]);
  });

  it("takes the upload back if a part is not stored, and does not read the rest of the body", async () => {
    const seen: string[] = [];
    const bucket = withUpload((real) => ({
      uploadPart: () => Promise.reject(new Error("injected")),
      abort: () => (seen.push("aborted"), real.abort()),
    }));
    const { uploadLink } = await create(app);
    const body = watched(LIMITS.partBytes * 3, () => seen.push("cancelled"));
    const answer = await mediaApp({ bucket }).call(uploadLink, { method: "PUT", body, headers: BINARY });
    await expectProblem(answer, 503, "service_temporarily_unavailable");
    expect(seen.toSorted()).toEqual(["aborted", "cancelled"]);
  });
});

describe("a failure to clean up", () => {
  itAtNight("does not fail an upload that is stored", async () => {
    const bucket = withMethods({ delete: () => Promise.reject(new Error("injected")) });
    const { id, uploadLink } = await create(app);
    const size = LIMITS.partBytes + 70_000;
    const answer = await mediaApp({ bucket }).call(uploadLink, { method: "PUT", body: chunked(size), headers: BINARY });
    expect(answer.status).toBe(200);
    expect((await env.MEDIA.head(`blob/${id}`))!.size).toBe(size);
  });

  it("leaves a fault of the caller what it is; the upload is taken back", async () => {
    const seen: string[] = [];
    const bucket = withUpload((real) => ({
      uploadPart: (number, part) => real.uploadPart(number, part),
      abort: async () => {
        seen.push("aborted");
        await real.abort();
        throw new Error("injected");
      },
    }));
    const { uploadLink } = await create(app);
    const small = mediaApp({ bucket, maxUploadBytes: LIMITS.partBytes + 1 });
    const body = watched(LIMITS.partBytes * 4, () => seen.push("cancelled"));
    const answer = await small.call(uploadLink, { method: "PUT", body, headers: BINARY });
    await expectProblem(answer, 413, "bad_payload_size");
    expect(seen.toSorted()).toEqual(["aborted", "cancelled"]);
  });
});

/** The real bucket, whose multipart uploads are replaced. */
const withUpload = (replace: (real: R2MultipartUpload) => Pick<R2MultipartUpload, "uploadPart" | "abort">): R2Bucket =>
  withMethods({ createMultipartUpload: async (key: string) => replace(await env.MEDIA.createMultipartUpload(key)) });

/** Makes a body of this size that reports when it is cancelled. */
function watched(size: number, onCancel: () => void): ReadableStream<Uint8Array> {
  const reader = chunked(size).getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: onCancel,
  });
}
