import { invalid, problem, type Problem } from "../../http/errors/errors.ts";
import { readJson } from "../../http/input/body.ts";
import { json } from "../../http/route.ts";
import { validate } from "../../http/input/validate.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { commitAs, tenantOf, type CommitDeps } from "../files/commit.ts";
import type { StoreAtOnce } from "../files/create.ts";
import { contentType, createPending, type PendingDeps } from "../files/new-file.ts";
import { hasTooManyPairs } from "../metadata/attributes.ts";
import { personOf } from "../model/access.ts";
import { parseFileName } from "../model/content-disposition.ts";
import { toProblem, type MediaFailure } from "../model/failure.ts";
import { LIMITS } from "../model/limits.ts";
import type { MasterUpload } from "../blobs/blob-store.ts";
import { announcedBody, fixedUpload, storeFirst, type UploadDeps } from "./worker.ts";
import { isObject } from "../../platform/text/json.ts";

/**
 * `POST P` with the bytes does the three steps of an upload in one request:
 *
 *   checked ──row──▶ pending ──bytes──▶ uploaded ──▶ committed: 202
 *                       ├── refused ──▶ removed: a sweep deletes its bytes
 *                       └── broken off: a sweep removes the file a day later
 *
 * Everything that can be checked is checked before there is a row. The body is either the bytes, which are streamed, or
 * a multipart form with the part `file` and optionally `metadata`, which is held in memory. A repeated request stores
 * another file.
 */
type Deps = CommitDeps & PendingDeps & UploadDeps;

export const createStoreAtOnce =
  (deps: Deps): StoreAtOnce =>
  async (visibility, { request, principal, query, nowMs, publicBase, waitUntil }, body, variants) => {
    const tenant = await tenantOf(deps, principal, query.tenant, nowMs);
    if (!tenant.ok) return toProblem(tenant.error);
    const given = body.kind === "form" ? await fromForm(body.form) : fromRequest(request, deps.maxUploadBytes);
    if (!given.ok) return given.error;
    const { upload, metadata } = given.value;
    const named = validate("body", contentType, upload.contentType);
    if (!named.ok)
      return invalid("invalid_header", "Content-Type", "Content-Type must be a media type such as image/png.");
    if (hasTooManyPairs(metadata)) return toProblem({ kind: "too_many_attributes" });
    const pending = { tenant: tenant.value, type: upload.contentType, variants, bytes: upload.lengthBytes };
    const created = await createPending(deps, visibility, principal, pending, nowMs);
    if (!created.ok) return refusal(created.error);
    const fileId = created.value;
    const isShared = query.shared !== undefined;
    const work = async (): Promise<Result<void, MediaFailure>> => {
      const stored = await storeFirst(deps, fileId, upload);
      if (!stored.ok) return stored;
      const fixed = fixedUpload(stored.value, upload.contentType, await personOf(deps, principal, nowMs));
      // Nobody else has the file, so the commit need neither look at its bytes nor remove others.
      const uploads = { ...deps.uploads, fixed: async () => fixed, clear: async () => undefined };
      const commit = { fileId, tenant: tenant.value, isShared, metadata, nowMs };
      // The file counts for its tenant already, and a person reaches a pending file only by a token for that tenant.
      const committer = { ...principal, tenant: tenant.value };
      return commitAs({ ...deps, uploads }, committer, visibility, commit, waitUntil);
    };
    // If this fails, the sweep removes the file a day later. A file that was committed stays.
    const abandon = () => deps.pending.abandon(fileId, nowMs).catch(() => undefined);
    const working = work().then(
      async (done) => {
        if (!done.ok) await abandon();
        return done;
      },
      async (thrown: unknown) => {
        await abandon();
        throw thrown;
      },
    );
    // If the caller disconnects, the request ends, but this work must go on.
    waitUntil(working);
    const done = await working;
    if (!done.ok) return refusal(done.error);
    return json(202, { id: fileId, link: deps.links.file(publicBase, visibility, fileId) });
  };

interface Given {
  readonly upload: Omit<MasterUpload, "fileId" | "maxBytes" | "quota">;
  readonly metadata: string;
}

function fromRequest({ headers, body }: Request, maxBytes: number): Result<Given, Problem> {
  const announced = announcedBody(headers, maxBytes);
  if (!announced.ok) return err(refusal(announced.error));
  const fileName = parseFileName(headers.get("content-disposition"));
  const type = headers.get("content-type") ?? "";
  return ok({ upload: { body, ...announced.value, contentType: type, fileName }, metadata: "{}" });
}

async function fromForm(form: FormData): Promise<Result<Given, Problem>> {
  const unknown = [...form.keys()].find((name) => name !== "file" && name !== "metadata");
  if (unknown !== undefined) return err(invalid("invalid_field", unknown, `${unknown} is not a part of the form.`));
  const [file, ...moreFiles] = form.getAll("file");
  if (!(file instanceof File) || moreFiles.length > 0)
    return err(invalid("missing_field", "file", "The form needs one part file, with a file name."));
  const [given, ...moreMetadata] = form.getAll("metadata");
  if (moreMetadata.length > 0) return err(invalid("invalid_field", "metadata", "metadata is given more than once."));
  const metadata = given === undefined ? ok("{}") : await metadataOf(given);
  if (!metadata.ok) return metadata;
  const upload = {
    body: file.stream(),
    lengthBytes: file.size,
    digest: undefined,
    contentType: file.type === "" ? DEFAULT_TYPE : file.type,
    fileName: parseFileName(`attachment; filename*=UTF-8''${encodeURIComponent(file.name)}`),
  };
  return ok({ upload, metadata: metadata.value });
}

const DEFAULT_TYPE = "application/octet-stream";

/** Reads the part in the same way as the body of a commit. */
async function metadataOf(part: File | string): Promise<Result<string, Problem>> {
  const body = new Request("https://form.invalid", { method: "POST", body: part, headers: JSON_TYPE });
  const read = await readJson(body, LIMITS.metadataMaxBytes);
  if (!read.ok) return read;
  return isObject(read.value?.value)
    ? ok(read.value.text)
    : err(invalid("invalid_field", "metadata", "metadata must be a JSON object."));
}

const JSON_TYPE = { "content-type": "application/json" };

/** Words failures for a request without a link: the client can only send it again. */
function refusal(failure: MediaFailure): Problem {
  const refused = toProblem(failure);
  switch (failure.kind) {
    case "other_digest": {
      const message = `The body does not match ${failure.header}. Nothing was stored. Send it again.`;
      return invalid("invalid_header", failure.header, message);
    }
    case "upload_over_quota":
    case "quota_exceeded": {
      const message = "The tenant's quota has no space for these bytes. Nothing was stored.";
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    // This request created the file, so a missing file has moved to another shard.
    case "no_file":
      return problem("service_temporarily_unavailable", "The tenant moves. Nothing was stored. Send it again.", {
        headers: { "retry-after": "5" },
        reason: "the file left the shard",
      });
    case "storage_unavailable":
    case "commit_unavailable":
      return problem(
        "service_temporarily_unavailable",
        "The storage did not answer. Nothing was stored. Send it again.",
        {
          headers: { "retry-after": "5" },
          reason: failure.reason,
        },
      );
    default:
      return refused;
  }
}
