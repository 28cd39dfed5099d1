import { BYTES, int, obj, oneOf, orNull, str, time, uri, type Schema } from "../model/schema.ts";

/** What the media service and the operator service say of files, in the same words. */
export const FILE_ID = "69158fc0006b1f9a2c3d4e5f";

export const fileFields = {
  id: str("The file's id."),
  "Content-Type": str("As declared."),
  size: int("Its length in bytes."),
  etag: str("Identifies its bytes."),
  fileName: orNull(str("The name from its upload; null: none.")),
  tenant: str("The tenant that it belongs to."),
};
export const FILE = {
  id: FILE_ID,
  "Content-Type": "image/jpeg",
  size: 482_113,
  etag: '"5d41402abc4b2a76b9719d911017c592"',
  fileName: "boat.jpg",
  tenant: "demo",
};

/** The body of a request that creates a file, with its bytes or without. */
export const UPLOAD = {
  fields: {
    "Content-Type":
      "The type of the upload, `binary/octet-stream` by default; not a multipart form. Other spellings, such as " +
      "`contentType`, are ignored like all unknown members.",
  },
  example: { "Content-Type": "image/jpeg" },
  others: {
    "application/octet-stream": BYTES,
    "multipart/form-data": obj({
      file: { ...BYTES, description: "The bytes, with their type and file name." },
      "metadata?": str("A JSON object, as for a commit."),
    }),
  },
};

export const variantFields = {
  type: oneOf(["clip", "crop"], "`clip` fits into the size; `crop` fills it and cuts around the centre."),
  size: str("As requested, for example `300x200`."),
  width: orNull(int("In pixels; null: not made yet.")),
  height: orNull(int("In pixels; null: not made yet.")),
  bytes: orNull(int("Its length; null: not made yet.")),
  etag: orNull(str("Identifies its bytes; null: not made yet.")),
  state: oneOf(["pending", "ready", "failed"], "`pending` until it is made."),
  "reason?": str("Why it failed."),
  "link?": uri("Its content, of public files that are ready."),
};
export const VARIANT = {
  type: "clip",
  size: "300x200",
  width: 300,
  height: 169,
  bytes: 18_211,
  etag: '"9d0f2c1b7a68"',
  state: "ready",
};

export const metadata: Schema = {
  type: "object",
  description: "Any JSON object, stored as sent.",
  additionalProperties: true,
};

export const erasureFields = {
  id: str("The deletion's id."),
  kind: oneOf(["file", "query", "all"], "Requested deletions."),
  tenant: str("The tenant of the files; for a file that was never committed, that of the caller."),
  visibility: oneOf(["private", "public"], "Whether it deleted private or public files."),
  state: oneOf(
    ["deleting", "deleted", "verified"],
    "`deleted`: all bytes are deleted; `verified`: a later listing has none left.",
  ),
  requestedAt: time("When it was requested. From then on nobody can read the files."),
  deletedAt: orNull(time("When the last bytes were deleted; null: not yet.")),
  verifiedAt: orNull(time("When it was verified; null: not yet.")),
  files: obj(
    {
      requested: int("Files to delete."),
      deleted: int("Files whose bytes are deleted."),
      verified: int("Files that a listing showed to be gone."),
    },
    "Counts of files.",
  ),
  bytes: obj({ requested: int("To delete."), deleted: int("Deleted.") }, "Bytes, without variants."),
  lateObjects: int("Objects that were written meanwhile and deleted too."),
};
export const ERASURE = {
  id: FILE_ID,
  kind: "all",
  tenant: "demo",
  visibility: "private",
  state: "deleted",
  requestedAt: 1_763_000_000_000,
  deletedAt: 1_763_000_004_000,
  verifiedAt: null,
  files: { requested: 12, deleted: 12, verified: 0 },
  bytes: { requested: 5_785_356, deleted: 5_785_356 },
  lateObjects: 0,
};

export const VARIANTS_400 =
  "`validation_violation`, `too_many_variants`, or `unsupported_content_type`: variants are made of jpeg, gif and png.";
