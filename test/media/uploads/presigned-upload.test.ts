import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import type { MediaDeps } from "../../../src/media/media-deps.ts";
import { guardDatabase } from "../../../src/platform/storage/database.ts";
import { faultAt, withMethods } from "../support/faults.ts";
import { mediaApp, START_MS, type MediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { expectJson } from "../../support/platform/call.ts";
import { BINARY, create, type Created } from "../support/upload-bodies.ts";
import { problem, scriptedS3, type ScriptedS3 } from "./scripted-s3.ts";
import { everywhere } from "../../support/shards.ts";
import { strideOf } from "../../support/model-runs.ts";

interface World {
  readonly app: MediaApp;
  readonly s3: ScriptedS3;
  readonly as: Principal;
  readonly file: Created;
  put(body: string, headers?: Record<string, string>): Promise<Response>;
  commit(json?: unknown, on?: MediaApp): Promise<Response>;
  /** Returns the bytes that a reader gets. */
  read(): Promise<string>;
}

/** Makes a pending file with presigned uploads. */
async function world(overrides: Partial<MediaDeps> = {}): Promise<World> {
  let nowMs = () => START_MS;
  const s3 = scriptedS3(() => nowMs());
  const app = mediaApp({ s3: s3.access, ...overrides });
  nowMs = () => app.clock.nowMs;
  const as = principal();
  const file = await create(app, as);
  return {
    app,
    s3,
    as,
    file,
    put: (body, headers = BINARY) => s3.put(file.uploadLink, body, headers),
    commit: (json = {}, on = app) => on.call(file.commitLink, { as, json }),
    async read() {
      const { link } = await expectJson(await app.call(`/media/v2/files/${file.id}`, { as }), 200);
      return new TextDecoder().decode(await (await app.call(link)).arrayBuffer());
    },
  };
}

async function keysOf(id: string): Promise<string[]> {
  const lists = await Promise.all(["blob", "incoming"].map((kind) => env.MEDIA.list({ prefix: `${kind}/${id}` })));
  return lists.flatMap(({ objects }) => objects.map(({ key }) => key));
}

const etagOf = async (text: string): Promise<string> =>
  Array.from(new Uint8Array(await crypto.subtle.digest("MD5", new TextEncoder().encode(text))), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");

const placeOf = async (id: string, text: string): Promise<string> => `blob/${id}.${await etagOf(text)}`;

/** What a commit leaves that breaks off after its copy. */
async function leaveCopy(id: string, text: string): Promise<void> {
  await env.MEDIA.put(await placeOf(id, text), text);
  await everywhere
    .prepare("UPDATE file SET pinned_etag = ? WHERE id = ?")
    .bind(await etagOf(text), id)
    .run();
}

describe("the link", () => {
  // shows: media/upload-and-immutability/uploadlink-commitlink
  it("is an absolute URL of S3, valid for an hour, one key and the declared type", async () => {
    const { app, s3, file, put } = await world();
    expect(file.uploadLink.startsWith(`https://account.s3.test/r2/a-bucket/incoming/${file.id}?`)).toBe(true);
    const answer = await put("hello");
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, `"${await etagOf("hello")}"`]);
    expect((await put("x", { "content-type": "text/html" })).status).toBe(403);
    const bare = await s3.put(file.uploadLink, new Uint8Array(1), {});
    expect(bare.status).toBe(403);
    const other = (await create(app)).id;
    for (const [from, to] of [
      [file.id, other],
      ["Expires=3600", "Expires=7200"],
      ["an-id", "another-id"],
      ["content-type%3Bhost", "host"],
    ] as const) {
      expect(file.uploadLink).toContain(from);
      expect((await s3.put(file.uploadLink.replace(from, to), "x", BINARY)).status).toBe(403);
    }
    app.clock.nowMs += 3_600_000;
    expect((await put("last")).status).toBe(200);
    app.clock.nowMs += 1;
    expect((await put("late")).status).toBe(403);
  });

  it("accepts a type with parameters and odd characters", async () => {
    const { app, s3, as } = await world();
    const type = `text/plain; charset="utf-8 (!*'~+)"`;
    const { uploadLink } = await create(app, as, type);
    expect((await s3.put(uploadLink, "x", { "content-type": type })).status).toBe(200);
  });
});

describe("a commit", () => {
  // shows: media/upload-and-immutability/r2-mode
  it("returns 202 and keeps the last upload, complete, with its name; nothing else stays", async () => {
    const { app, s3, as, file, put, commit, read } = await world();
    await put("first");
    await put("second", { ...BINARY, "content-disposition": "attachment; filename*=UTF-8''%E2%82%AC.txt" });
    await expectJson(await commit({ a: 1 }), 202);
    await app.settle();
    expect(await read()).toBe("second");
    const row = await everywhere
      .prepare("SELECT size_bytes, etag, blob_key, file_name FROM file WHERE id = ?")
      .bind(file.id)
      .first();
    const [etag, place] = [await etagOf("second"), await placeOf(file.id, "second")];
    expect(row).toEqual({ size_bytes: 6, etag, blob_key: place, file_name: "€.txt" });
    expect(await keysOf(file.id)).toEqual([place]);
    await expectJson(await commit({ a: 1 }), 202);
    await expectProblem(await commit({ a: 2 }), 409, "conflict_resource", [{ type: "already_committed" }]);
    expect(s3.copies).toHaveLength(1);
    const fetched = await app.call(`/media/v2/files/${file.id}`, { as });
    expect(fetched.headers.get("etag")).toBe(`"${etag}"`);
  });

  it("leaves the bytes alone that another one keeps, which took the file to its tenant's shard", async () => {
    const { app, s3, as, file, put } = await world();
    app.actsFor.add(`${as.clientId} globex`);
    await put("hello");
    const commitFor = (tenant: string) => app.call(`${file.commitLink}?tenant=${tenant}`, { as, method: "POST" });
    s3.onCopy = async (perform) => {
      const copied = await perform();
      s3.onCopy = (others) => others();
      expect((await commitFor("globex")).status).toBe(202);
      return copied;
    };
    await expectProblem(await commitFor(as.tenant), 409, "conflict_resource", [{ type: "already_committed" }]);
    await app.settle();
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "hello")]);
  });

  // shows: media/upload-and-immutability/commit-before-the-upload
  it("returns 409 before any upload, and works after it", async () => {
    const { put, commit, read } = await world();
    await expectProblem(await commit(), 409, "conflict_resource", [{ type: "file_not_uploaded" }]);
    await put("now");
    await expectJson(await commit(), 202);
    expect(await read()).toBe("now");
  });

  // shows: media/upload-and-immutability/over-the-limit
  it("returns 413 beyond the limit and keeps nothing; the link still works", async () => {
    const { file, put, commit, read } = await world({ maxUploadBytes: 5 });
    await put("sixsix");
    await expectProblem(await commit(), 413, "bad_payload_size");
    expect(await keysOf(file.id)).toEqual([]);
    await put("five5");
    await expectJson(await commit(), 202);
    expect(await read()).toBe("five5");
  });

  it("returns 415 for an encoding, as through the Worker, and keeps nothing", async () => {
    const { file, put, commit } = await world();
    await put("zzz", { ...BINARY, "content-encoding": "gzip" });
    await expectProblem(await commit(), 415, "unsupported_request_content_type");
    expect(await keysOf(file.id)).toEqual([]);
  });

  it("takes a file that was uploaded through the Worker before the deployment had S3 credentials", async () => {
    const before = mediaApp();
    const as = principal();
    const { id, uploadLink, commitLink } = await create(before, as);
    const { app } = await world();
    expect((await app.call(uploadLink, { method: "PUT", body: "old", headers: BINARY })).status).toBe(200);
    await expectJson(await app.call(commitLink, { as, method: "POST" }), 202);
    await app.settle();
    expect(await keysOf(id)).toEqual([`blob/${id}`]);
  });
});

describe("an overwritten upload", () => {
  // shows: media/what-the-service-does/immutable
  // shows: media/upload-and-immutability/the-commit-pins
  it("after the commit leaves the file unchanged, and is deleted when the link has ended", async () => {
    const { app, file, put, commit, read } = await world();
    await put("committed");
    await expectJson(await commit(), 202);
    await app.settle();
    expect((await put("overwritten")).status).toBe(200);
    expect(await read()).toBe("committed");
    await expectJson(await commit(), 202);
    await app.settle();
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "committed")]);
    expect((await put("again")).status).toBe(200);
    await app.media.sweep(START_MS + LIMITS.lateUploadMs - 1);
    expect(await keysOf(file.id)).toHaveLength(2);
    await app.media.sweep(START_MS + LIMITS.lateUploadMs);
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "committed")]);
    expect(await read()).toBe("committed");
    const due = await everywhere.prepare("SELECT due_at FROM file WHERE id = ?").bind(file.id).first("due_at");
    expect(due).toBeNull();
  });

  it("before the copy is the one that is committed, complete", async () => {
    const { app, s3, file, put, commit, read } = await world();
    await put("seen");
    s3.onCopy = async (perform) => {
      s3.onCopy = (again) => again();
      await put("meanwhile");
      return perform();
    };
    await expectJson(await commit(), 202);
    await app.settle();
    expect(await read()).toBe("meanwhile");
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "meanwhile")]);
  });

  // shows: media/upload-and-immutability/the-commit-pins
  it("after the copy, before the commit, does not change the copy", async () => {
    const { app, s3, file, put, commit, read } = await world();
    await put("copied");
    s3.onCopy = async (perform) => {
      const answer = await perform();
      await put("meanwhile");
      return answer;
    };
    await expectJson(await commit(), 202);
    await app.settle();
    expect(await read()).toBe("copied");
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "copied")]);
  });

  it("again and again returns 409; the commit works when the uploads have ended", async () => {
    const { app, s3, file, put, commit, read } = await world();
    await put("0");
    let made = 0;
    s3.onCopy = async (perform) => {
      await put(String(++made));
      return perform();
    };
    await expectProblem(await commit(), 409, "conflict_resource", [{ type: "upload_changed" }]);
    expect(made).toBeLessThan(10);
    s3.onCopy = (perform) => perform();
    await expectJson(await commit(), 202);
    await app.settle();
    expect(await read()).toBe(String(made));
    expect(await keysOf(file.id)).toHaveLength(1);
  });

  it("loses nothing to a copy that lands late: its key has only one content", async () => {
    const { app, s3, file, put, commit, read } = await world();
    await put("one");
    let late = async (): Promise<unknown> => undefined;
    s3.onCopy = async (perform) => {
      late = perform;
      throw new Error("injected: no answer");
    };
    await expectProblem(await commit(), 503, "service_temporarily_unavailable");
    s3.onCopy = (perform) => perform();
    await expectJson(await commit(), 202);
    await app.settle();
    await put("two");
    await late();
    expect(await read()).toBe("one");
    expect((await keysOf(file.id)).filter((key) => key.startsWith("blob/"))).toEqual([await placeOf(file.id, "one")]);
  });
});

describe("parallel commits", () => {
  it("that are equal all return 202; of different ones one does; one copy of each upload stays", async () => {
    const alike = await world();
    await alike.put("same");
    const same = await Promise.all(Array.from({ length: 6 }, () => alike.commit({ a: 1 })));
    expect(same.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 202]);
    const { app, file, put, commit, read } = await world();
    await put("same");
    const different = await Promise.all(Array.from({ length: 6 }, (_, index) => commit({ index })));
    expect(different.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409, 409, 409, 409]);
    await Promise.all([app.settle(), alike.app.settle()]);
    for (const [id, text] of [
      [file.id, await read()],
      [alike.file.id, await alike.read()],
    ] as const) {
      expect(text).toBe("same");
      expect(await keysOf(id)).toEqual([await placeOf(id, "same")]);
    }
  });

  it.each([true, false])("of different uploads both name the one that won (copied before: %s)", async (is) => {
    const { app, s3, file, put, commit, read } = await world();
    await put("first");
    const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    s3.onCopy = async (perform) => {
      s3.onCopy = (again) => again();
      const early = is ? await perform() : undefined;
      begun.resolve();
      await mayEnd.promise;
      return early ?? perform();
    };
    const slow = commit();
    await begun.promise;
    await put("second");
    await expectJson(await commit(), 202);
    mayEnd.resolve();
    await expectJson(await slow, 202);
    await app.settle();
    expect(await read()).toBe("second");
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "second")]);
  });

  it("try again if another one changed the pin and did not end: the pin of the row is committed", async () => {
    const { app, s3, file, put, commit, read } = await world();
    await put("first");
    s3.onCopy = async (perform) => {
      const answer = await perform();
      await put("second");
      s3.onCopy = () => Promise.reject(new Error("injected"));
      expect((await commit()).status).toBe(503);
      s3.onCopy = (again) => again();
      return answer;
    };
    await expectJson(await commit(), 202);
    await app.settle();
    expect(await read()).toBe("second");
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "second")]);
  });

  it("with a deletion, or the sweep, return 404 and leave no copy", async () => {
    for (const end of ["delete", "sweep"] as const) {
      const { app, s3, as, file, put, commit } = await world();
      await put("gone");
      s3.onCopy = async (perform) => {
        if (end === "sweep") await app.media.sweep(START_MS + LIMITS.uncommittedTtlMs);
        else expect((await app.call(`/media/v2/files/${file.id}`, { as, method: "DELETE" })).status).toBe(204);
        await app.settle();
        // The purge deleted the upload, but a copy that had begun before still writes it.
        await put("gone");
        return perform();
      };
      await expectProblem(await commit(), 404, "element_resource_non_existing");
      await app.settle();
      expect(await keysOf(file.id)).toEqual([]);
    }
  });
});

describe("a commit that a restore of the database undid", () => {
  it("can be repeated, although the upload is gone", async () => {
    const { app, file, put, commit, read } = await world();
    await put("kept");
    const columns = "state, owner_id, pinned_etag, blob_key, commit_digest, due_at, metadata, attributes";
    const find = `SELECT ${columns} FROM file WHERE id = ?`;
    const before = (await everywhere.prepare(find).bind(file.id).first())!;
    await expectJson(await commit({ a: 1 }), 202);
    await app.settle();
    const restore = `UPDATE file SET (${columns}) = (${Object.keys(before)
      .map(() => "?")
      .join(", ")}) WHERE id = ?`;
    await everywhere
      .prepare(restore)
      .bind(...Object.values(before), file.id)
      .run();
    await expectProblem(await commit({ a: 1 }), 409, "conflict_resource", [{ type: "file_not_uploaded" }]);
    const mark = (atMs: number | null) =>
      env.DB.prepare("UPDATE restore_point SET marked_at = ? WHERE id = 1").bind(atMs).run();
    await mark(START_MS);
    onTestFinished(async () => void (await mark(null)));
    await expectJson(await commit({ a: 1 }), 202);
    await app.settle();
    expect(await read()).toBe("kept");
    expect(await keysOf(file.id)).toEqual([await placeOf(file.id, "kept")]);
  });
});

describe("a copy of an earlier upload", () => {
  it("that a failure left behind is deleted when the link has ended", async () => {
    let fails = true;
    const remove = async (keys: string | string[]) => {
      if (fails) throw new Error("injected");
      await env.MEDIA.delete(keys);
    };
    const { app, file, put, commit, read } = await world({ bucket: withMethods({ delete: remove }) });
    await put("first");
    await leaveCopy(file.id, "first");
    await put("second");
    await expectJson(await commit(), 202);
    await app.settle().catch(() => {});
    const [first, second] = await Promise.all([placeOf(file.id, "first"), placeOf(file.id, "second")]);
    expect(await keysOf(file.id)).toEqual([first, second, `incoming/${file.id}`].toSorted());
    fails = false;
    await app.media.sweep(START_MS + LIMITS.lateUploadMs);
    expect(await keysOf(file.id)).toEqual([second]);
    expect(await read()).toBe("second");
  });
});

describe("faults", () => {
  it.each(["before", "after"] as const)(
    "in each step of a commit %s it is done are mended by a repeated commit",
    async (when) => {
      const faults = faultAt();
      for (let number = 0; ; number += strideOf(3)) {
        faults.arm(Infinity, when);
        const { app, s3, as, file, put, commit, read } = await world({
          shards: [{ number: 0, db: guardDatabase(faults.db) }],
          bucket: faults.bucket,
        });
        await put("whole");
        s3.onCopy = (perform) => faults.around(perform);
        faults.arm(number, when);
        const answer = await commit();
        if (answer.status !== 202)
          expect([answer.status, answer.headers.get("retry-after")]).toEqual([
            503,
            expect.stringMatching(/^([5-9]|10)$/),
          ]);
        await app.settle();
        const steps = faults.seen();
        faults.arm(Infinity, when);
        await put("too late, or just in time");
        await expectJson(await app.call(file.commitLink, { as, json: {} }), 202);
        await app.settle();
        const text = await read();
        if (answer.status === 202) expect(text).toBe("whole");
        expect(["whole", "too late, or just in time"]).toContain(text);
        expect(await keysOf(file.id)).toEqual([await placeOf(file.id, text)]);
        if (number >= steps) {
          expect(steps).toBeGreaterThan(6);
          break;
        }
      }
    },
  );

  it("of S3 return 503 with Retry-After; then the commit works", async () => {
    const { app, s3, file, put, commit, read } = await world();
    await put("kept");
    for (const fault of [
      () => Promise.reject(new TypeError("network connection lost")),
      async () => new Response("busy", { status: 503 }),
      async () => problem(500, "InternalError"),
      async () => problem(403, "SignatureDoesNotMatch"),
      async () => problem(404, "NoSuchBucket"),
      async () => problem(200, "InternalError"),
      async () => new Response("<CopyObjectResult/>"),
    ]) {
      s3.onCopy = fault;
      const answer = await commit();
      const { message } = await expectProblem(answer, 503, "service_temporarily_unavailable");
      expect(answer.headers.get("retry-after")).toMatch(/^([5-9]|10)$/);
      expect(message).toContain("Commit again");
      expect(await keysOf(file.id)).toEqual([`incoming/${file.id}`]);
    }
    s3.onCopy = (perform) => perform();
    await expectJson(await commit(), 202);
    await app.settle();
    expect(await read()).toBe("kept");
  });

  it("that lose the answer to a copy still return 202", async () => {
    const { s3, put, commit, read } = await world();
    await put("there");
    s3.onCopy = async (perform) => {
      await perform();
      throw new Error("injected: connection lost");
    };
    await expectJson(await commit(), 202);
    expect(await read()).toBe("there");
  });

  it("after the copy need no second copy when the commit is repeated", async () => {
    const { s3, file, put, commit, read } = await world();
    await put("there");
    await leaveCopy(file.id, "there");
    await expectJson(await commit(), 202);
    expect(s3.copies).toEqual([]);
    expect(await read()).toBe("there");
  });
});

describe("without a commit", () => {
  it("the upload is deleted with the row, after a day", async () => {
    const { app, file, put } = await world();
    await put("left");
    await app.media.sweep(START_MS + LIMITS.uncommittedTtlMs);
    expect(await keysOf(file.id)).toEqual([]);
  });

  it("so is the copy of a commit that broke off", async () => {
    const { app, file, put } = await world();
    await put("left");
    await leaveCopy(file.id, "left");
    await app.media.sweep(START_MS + LIMITS.uncommittedTtlMs);
    expect(await keysOf(file.id)).toEqual([]);
  });
});
