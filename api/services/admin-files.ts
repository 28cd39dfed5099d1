import type { Entry, Named, Parameter } from "../model/entry.ts";
import { bool, int, list, obj, oneOf, ref, str, time, uri } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";
import * as shapes from "./media-shapes.ts";

/** Files of all clients: the operator does what the client that owns them could do. */
const OF_OWNER = "/tenants/{tenant}/files/{client}/{visibility}";
const ONE = "/files/{fileId}";
const CONTENT = `https://platform.example/media/v2/content/${shapes.FILE_ID}`;
const SIGNED = "expires=1763000300&signature=q1Zr";

/** Links of private files are signed. */
const ofVariant = {
  ...shapes.variantFields,
  "link?": uri("Its content, once it is ready; of private files for some minutes."),
};
const preview = uri("A small picture of an image; absent: there is none. Of private files for some minutes.");
const visibility = oneOf(["private", "public"], "Who may fetch the files.");

export const FILE_SCHEMAS: Readonly<Record<string, Named>> = {
  FileOwner: {
    schema: obj({
      client: str("The client that owns the files."),
      visibility,
      files: int("Its committed files."),
      bytes: int("Their length, without variants."),
    }),
    example: { client: "demo.shop", visibility: "private", files: 12, bytes: 5_785_356 },
  },
  OperatedFile: {
    schema: obj({
      ...shapes.fileFields,
      createdAt: time("When its upload link was made."),
      committedAt: time("When it was committed."),
      metadata: shapes.metadata,
      variants: list(obj(ofVariant), "Its variants; those of private files have no link here."),
      "link?": uri("Its content, of public files."),
      "preview?": preview,
    }),
    example: {
      ...shapes.FILE,
      createdAt: 1_763_000_000_000,
      committedAt: 1_763_000_030_000,
      metadata: { album: "summer" },
      variants: [shapes.VARIANT],
      preview: `${CONTENT}/clip-300x200?${SIGNED}`,
    },
  },
  FoundFiles: {
    schema: obj({
      files: list(
        obj({
          id: str("The file's id."),
          name: str("The `name` of its metadata."),
          tenant: str("The tenant whose file it is."),
          client: str("The client that owns it."),
          visibility,
        }),
        "At most 20; whole names first.",
      ),
      more: bool("There may be others: send a longer text, or name a tenant."),
    }),
    example: {
      files: [
        { id: shapes.FILE_ID, name: "harbour-09.png", tenant: "demo", client: "demo.shop", visibility: "private" },
      ],
      more: false,
    },
  },
  OperatedFileReport: {
    schema: obj({
      ...shapes.fileFields,
      client: str("The client that owns it."),
      visibility,
      committedAt: time("When it was committed."),
      metadataText: str("The JSON object of its metadata, as it was sent."),
      variants: list(obj(ofVariant), "Its variants."),
      link: uri("Its content; of a private file for some minutes."),
      "preview?": preview,
    }),
    example: {
      ...shapes.FILE,
      client: "demo.shop",
      visibility: "private",
      committedAt: 1_763_000_030_000,
      metadataText: '{"album":"summer"}',
      variants: [{ ...shapes.VARIANT, link: `${CONTENT}/clip-300x200?${SIGNED}` }],
      link: `${CONTENT}?${SIGNED}`,
      preview: `${CONTENT}/clip-300x200?${SIGNED}`,
    },
  },
  OperatedErasure: {
    schema: obj({
      ...shapes.erasureFields,
      client: str("The client that asked, or for which an operator asked."),
    }),
    example: { ...shapes.ERASURE, client: "demo.shop" },
  },
  WaitingVariants: {
    schema: obj({
      waiting: int("Variants of these files that are not made yet."),
      more: bool("There may be more: the platform has so much to do that not all of it was looked at."),
    }),
    example: { waiting: 42, more: false },
  },
};

export const FILE_PARAMETERS: Readonly<Record<string, Parameter>> = {
  client: { text: "The client that owns the files.", example: "demo.shop" },
  visibility: { text: "Private or public files.", example: "private" },
  fileId: { text: "The file's id.", example: shapes.FILE_ID },
  erasureId: { text: "The deletion's id.", example: shapes.FILE_ID },
  "content-type": { text: "Content types, separated by commas.", example: "image/png,image/jpeg" },
  clip: { text: "Sizes to fit into, separated by commas; sides of 1 to 5000.", example: "300x200" },
  crop: { text: "Sizes to fill and cut, separated by commas.", example: "64x64" },
  dryRun: { text: "`true`: only count." },
};

const tenant = { text: "The tenant of the files.", example: "demo" };
const q = { text: "Terms over the metadata, at most 20; all have to match.", example: "album:summer" };
const sort = { text: "Attributes with `:asc` or `:desc`, separated by commas; at most 4.", example: "album:asc" };
const AUDITED = "As the client itself would; the audit log says who did.";
const NOT_OWN = "The client belongs to another organization.";
const NO_TENANT = "The tenant is beyond the caller's organization.";
const variants = list(obj(ofVariant), "The file's variants.");

export const FILE_ENTRIES: Readonly<Record<string, Entry>> = {
  "GET /tenants/{tenant}/files": {
    id: "listFileOwners",
    tag: TAGS.files,
    about: "At most 200, by the client's name. Clients of other tenants are among them, if they serve this one.",
    parameters: { tenant },
    answers: { 200: { text: "The clients.", json: list(ref("FileOwner")) } },
    errors: { 404: NO_TENANT },
  },
  "GET /files": {
    id: "findFiles",
    tag: TAGS.files,
    about:
      "By the `name` of their metadata, as it was sent, in small letters, in capitals or with a capital first. It looks " +
      "at the first 10,000 owners of each database; of more, name a tenant. The audit log says who looked. A person who " +
      "runs an organization's tenants finds the files of the first 1,000 of these. `more` says whether there may be others.",
    parameters: {
      q: { text: "The beginning of a name.", example: "harbour" },
      tenant: { text: "Only files of this tenant.", example: "demo" },
    },
    answers: { 200: { text: "The files.", json: ref("FoundFiles"), headers: ["Cache-Control"] } },
    errors: { 404: NO_TENANT },
  },
  [`GET ${OF_OWNER}`]: {
    id: "listOperatedFiles",
    tag: TAGS.files,
    about:
      "Committed files. The audit log says who looked. A person who runs an organization's tenants sees the files of these.",
    parameters: { tenant, q, sort },
    answers: {
      200: { text: "A page of files.", json: list(ref("OperatedFile")), headers: ["Link", "Cache-Control"] },
    },
    errors: { 400: "`validation_violation`, or `query_too_broad`: too many candidates, add a term.", 404: NO_TENANT },
  },
  [`POST ${OF_OWNER}`]: {
    id: "createOperatedFile",
    tag: TAGS.files,
    about: `Returns a link for the upload; commit it by its id. ${AUDITED} With a body of another type than JSON, the request stores and commits the file at once.`,
    parameters: { tenant },
    body: shapes.UPLOAD,
    answers: {
      200: {
        text: "The links.",
        json: obj({
          id: str("The file's id."),
          uploadLink: uri("For the bytes."),
          commitLink: uri("The client's own."),
        }),
        example: {
          id: shapes.FILE_ID,
          uploadLink: `https://platform.example/media/v2/uploads/${shapes.FILE_ID}?type=image%2Fjpeg&${SIGNED}`,
          commitLink: `https://platform.example/media/v2/files/${shapes.FILE_ID}/commit`,
        },
        headers: ["Cache-Control"],
      },
      202: {
        text: "With the bytes: stored and committed.",
        json: ref("CommittedFile"),
      },
    },
    errors: {
      400: shapes.VARIANTS_400,
      403: NOT_OWN,
      404: "There is no such client in the tenant.",
      409: "With the bytes: the file was removed or changed meanwhile.",
      413: "`quota_exceeded`: the tenant's stored and uncommitted files fill its quota. Or the body is too large.",
      415: "A Content-Encoding, or a form that is not multipart.",
      429: "The client has 10,000 uncommitted files.",
      503: "The storage did not answer.",
    },
  },
  [`DELETE ${OF_OWNER}`]: {
    id: "deleteOperatedFiles",
    tag: TAGS.files,
    about: `Without \`q\`: all of them. Nobody can read them any more once this is answered. ${AUDITED}`,
    parameters: { tenant, q },
    answers: {
      200: {
        text: "With `dryRun`: how many it would delete.",
        json: ref("FileCount"),
      },
      202: { text: "All are being deleted; `Location` ends with the deletion's id.", headers: ["Location"] },
      204: { text: "Those that match are being deleted; the same.", headers: ["Location"] },
    },
    errors: { 400: "`validation_violation`, or `query_too_broad`.", 403: NOT_OWN, 404: NO_TENANT },
  },
  [`POST ${OF_OWNER}/variants`]: {
    id: "createOperatedBulkVariants",
    tag: TAGS.files,
    about: `\`Link\` leads to the next page. ${AUDITED}`,
    parameters: { tenant, q },
    answers: {
      200: {
        text: "With `dryRun`: what it would start.",
        json: ref("BulkCount"),
        headers: ["Link"],
      },
      202: {
        text: "They will be made.",
        json: ref("BulkCount"),
        headers: ["Link"],
      },
    },
    errors: { 400: "`too_many_transformations`, `query_too_broad`, or no size.", 403: NOT_OWN, 404: NO_TENANT },
  },
  [`GET ${OF_OWNER}/variants`]: {
    id: "countWaitingVariants",
    tag: TAGS.files,
    about: "How far the work is that was asked for, by whomever.",
    parameters: { tenant },
    answers: { 200: { text: "The number.", json: ref("WaitingVariants"), headers: ["Cache-Control"] } },
    errors: { 404: NO_TENANT },
  },
  [`GET ${ONE}`]: {
    id: "getOperatedFile",
    tag: TAGS.files,
    about: "Of any client. The audit log says who looked.",
    answers: { 200: { text: "The file.", json: ref("OperatedFileReport"), headers: ["Cache-Control"] } },
    errors: { 404: "There is no committed file of this id, or it is beyond the caller's organization." },
  },
  [`DELETE ${ONE}`]: {
    id: "deleteOperatedFile",
    tag: TAGS.files,
    about: `Nobody can read it any more once this is answered. ${AUDITED}`,
    answers: { 204: { text: "`Location` ends with the deletion's id.", headers: ["Location"] } },
    errors: { 403: NOT_OWN, 404: "" },
  },
  [`POST ${ONE}/commit`]: {
    id: "commitOperatedFile",
    tag: TAGS.files,
    about: `Fixes the upload, with its metadata. ${AUDITED}`,
    body: { schema: shapes.metadata, example: { album: "summer" }, text: "The file's metadata; default: none." },
    answers: {
      202: {
        text: "Committed. Its variants will be made.",
        json: ref("CommittedFile"),
      },
    },
    errors: {
      400: "`validation_violation`, or `too_many_attributes`.",
      403: NOT_OWN,
      404: "",
      409: "It has no bytes yet, was committed otherwise, or changed meanwhile.",
      413: "`quota_exceeded`",
      503: "The storage did not answer.",
    },
  },
  [`PUT ${ONE}/metadata`]: {
    id: "replaceOperatedMetadata",
    tag: TAGS.files,
    about: AUDITED,
    body: { schema: shapes.metadata, example: { album: "winter" }, text: "The whole metadata." },
    answers: {
      200: {
        text: "As it was sent.",
        json: shapes.metadata,
        example: { album: "winter" },
        headers: ["Cache-Control"],
      },
    },
    errors: { 400: "`validation_violation`, or `too_many_attributes`.", 403: NOT_OWN, 404: "" },
  },
  [`POST ${ONE}/variants`]: {
    id: "createOperatedVariants",
    tag: TAGS.files,
    about: `Failed ones are made anew, others stay. ${AUDITED}`,
    answers: { 200: { text: "All variants of the file.", json: variants, example: [shapes.VARIANT] } },
    errors: { 400: shapes.VARIANTS_400, 403: NOT_OWN, 404: "" },
  },
  [`DELETE ${ONE}/variants`]: {
    id: "deleteOperatedVariants",
    tag: TAGS.files,
    about: `Those named, or all. ${AUDITED}`,
    answers: { 204: { text: "They are deleted." } },
    errors: { 400: "`validation_violation`", 403: NOT_OWN, 404: "" },
  },
  "GET /tenants/{tenant}/erasures/{client}": {
    id: "listOperatedErasures",
    tag: TAGS.files,
    about: "Those that the client or an operator asked for.",
    parameters: { tenant },
    answers: {
      200: {
        text: "A page of deletions, the newest first.",
        json: list(ref("Erasure")),
        headers: ["Link"],
      },
    },
    errors: { 404: NO_TENANT },
  },
  "GET /erasures/{erasureId}": {
    id: "getOperatedErasure",
    tag: TAGS.files,
    about:
      "A deletion of many files goes on after its answer. Poll this report until `state` is `deleted`, or `verified` if you need the proof.",
    answers: {
      200: {
        text: "The progress, and the client whose files these were.",
        json: ref("OperatedErasure"),
      },
    },
    errors: { 404: "" },
  },
};
