import type { AnswerEntry, Entry, ServiceEntries } from "../model/entry.ts";
import { BYTES, int, list, obj, oneOf, ref, str, time, uri } from "../model/schema.ts";
import {
  ERASURE,
  erasureFields,
  FILE,
  FILE_ID,
  fileFields,
  metadata,
  VARIANT,
  variantFields,
  VARIANTS_400,
  UPLOAD,
} from "./media-shapes.ts";

/** Media. Private and public files have the same operations under two paths. */
type Visibility = "private" | "public";

const TAGS = { private: "Private files", public: "Public files" } as const;
const UPLOADS = "Uploads and content";
const DELETIONS = "Deletions";
const BASE = "https://platform.example/media/v2";

const metadataExample = { album: "summer", tags: ["sea", "boat"] };

const fields = {
  q: {
    text: 'Terms over the metadata, at most 20: `album:summer tags:"open sea"`; all have to match.',
    example: "album:summer",
  },
  "content-type": { text: "Content types, separated by commas.", example: "image/png,image/jpeg" },
  sort: {
    text: "Attributes with `:asc` or `:desc`, separated by commas; at most 4. Files without the attribute sort last.",
    example: "album:asc",
  },
  clip: { text: "Sizes to fit into, separated by commas; sides of 1 to 5000.", example: "300x200" },
  crop: { text: "Sizes to fill and cut, separated by commas.", example: "64x64" },
  tenant: { text: "The tenant of the files.", example: "demo" },
  shared: {
    text: "`tenant`: the files that clients of the tenant share with each other, by their ids; not the caller's own.",
    example: "tenant",
  },
  client: {
    text: "With `shared=tenant`: the client whose files these are; `q`, `content-type` and `sort` ask for one.",
    example: "demo.shop",
  },
  dryRun: { text: "`true`: only say what would be done." },
  fallback: { text: "`true`: returns the master while the variant is missing." },
  fileId: { text: "The file's id.", example: FILE_ID },
  erasureId: { text: "The deletion's id.", example: FILE_ID },
  variant: { text: "Type and size.", example: "clip-300x200" },
  type: { text: "Part of the link." },
  expires: { text: "Part of the link." },
  signature: { text: "Part of the link." },
};

const FORBIDDEN =
  "The token lacks the scope, is for no tenant, or its client did not authenticate by its secret: files " +
  "belong to clients. To change what another client shares, `plat.media_admin` is needed.";
const NO_FILE = "There is no such file, or it belongs to another client or tenant that does not share it.";
const QUERY_ERRORS =
  "`validation_violation`; `query_too_broad`: too many candidates, add a term; `too_many_variants`, " +
  "`too_many_transformations`.";
const EACH_PAGE =
  "At least one size. Each call handles a page of images with at most 100 variants; `Link` leads to the next page.";
const COUNTED: AnswerEntry = { text: "`dryRun`: the counts.", json: ref("BulkCount"), headers: ["Link"] };
const bulkErrors = { 400: QUERY_ERRORS, 403: FORBIDDEN, 404: "There is no such tenant for this token." };
const commitAnswer = { text: "Committed. Its variants will be made.", json: ref("CommittedFile") };

function files(visibility: Visibility): Readonly<Record<string, Entry>> {
  const tag = TAGS[visibility];
  const P = visibility === "public" ? "/public/files" : "/files";
  const B = visibility === "public" ? "/public/bulk/variants" : "/bulk/variants";
  const named = (action: string, what: string): string =>
    `${action}${visibility === "public" ? "Public" : "Private"}${what}`;
  const reading = { 403: FORBIDDEN, 404: NO_FILE };
  return {
    [`POST ${P}`]: {
      id: named("create", "File"),
      tag,
      about:
        "Returns a link for the upload and one for the commit. A file that is not committed within a day is " +
        "deleted. Variants named here are made at the commit. With a body of another type than JSON, the request stores " +
        "and commits the file at once: the bytes, or a multipart form of up to 5 MiB with the part `file` and, if wanted, " +
        "`metadata` (a JSON object). Then `tenant` and `shared` count as for a commit. A request that is repeated stores " +
        "another file.",
      body: UPLOAD,
      answers: {
        200: { text: "The links.", json: ref("NewFile"), headers: ["Cache-Control"] },
        202: { ...commitAnswer, text: "With the bytes: stored and committed. Its variants will be made." },
      },
      errors: {
        400: `${VARIANTS_400} With the bytes: \`too_many_attributes\`, or a digest that they do not have.`,
        403: FORBIDDEN,
        404: "With the bytes: there is no such tenant for this token.",
        409: "With the bytes: the file was removed or changed meanwhile.",
        413: "`quota_exceeded`: the tenant's stored and uncommitted files fill its quota. Or the body is too large.",
        415: "A Content-Encoding, or a form that is not multipart.",
        429: "The client has 10,000 uncommitted files.",
        503: "The storage did not answer.",
      },
    },
    [`GET ${P}`]: {
      id: named("list", "Files"),
      tag,
      about:
        "Committed files of a tenant that the calling client owns. `shared=tenant` lists those that clients of the " +
        "tenant share, for a client of that tenant.",
      answers: { 200: { text: "A page of files.", json: list(ref("File")), headers: ["Link", "Cache-Control"] } },
      errors: { 400: QUERY_ERRORS, 403: FORBIDDEN, 404: "There is no such tenant for this token." },
    },
    [`POST ${P}/{fileId}/commit`]: {
      id: named("commit", "File"),
      tag,
      about: "Fixes the upload: from now on the file never changes. Repeating the same commit answers the same.",
      parameters: {
        tenant: { text: "The tenant that the file belongs to; default: the token's.", example: "demo" },
        shared: {
          text:
            "`tenant`: other clients of the tenant may read the file with `plat.media_view`, and change or delete it " +
            "with `plat.media_admin` besides. Absent: it is not shared. This cannot be changed later.",
          example: "tenant",
        },
      },
      body: { schema: metadata, example: metadataExample, text: "The file's metadata; default: none." },
      answers: { 202: commitAnswer },
      errors: {
        400: "`validation_violation`, or `too_many_attributes`.",
        403: FORBIDDEN,
        404: NO_FILE,
        409: "`file_not_uploaded`, `already_committed` with another text or tenant, or `upload_changed`.",
        413: "The metadata has more than 64 KiB; the file is too large; or `quota_exceeded`.",
      },
    },
    [`DELETE ${P}/{fileId}`]: {
      id: named("delete", "File"),
      tag,
      about: "From the answer on nobody can read it; its bytes are deleted next.",
      answers: { 204: { text: "Deleted; `Location` is the report on its bytes.", headers: ["Location"] } },
      errors: reading,
    },
    [`DELETE ${P}`]: {
      id: named("delete", "Files"),
      tag,
      about:
        "Deletes all files of the calling client in a tenant, or those that `q` matches, at once. From the " +
        "answer on nobody can read them.",
      answers: {
        200: { text: "`dryRun`: the number of files.", json: ref("FileCount") },
        202: { text: "All: deleted; `Location` is the report on their bytes.", headers: ["Location"] },
        204: { text: "By query: deleted; `Location` is the report on their bytes.", headers: ["Location"] },
      },
      errors: {
        400: "`validation_violation`; unknown parameters are refused, not ignored; `query_too_broad`.",
        403: FORBIDDEN,
        404: "There is no such tenant for this token.",
      },
    },
    [`GET ${P}/{fileId}/metadata`]: {
      id: named("get", "Metadata"),
      tag,
      about: "Metadata is the JSON object that came with the commit, or that replaced it since.",
      answers: { 200: { text: "As sent.", json: metadata, example: metadataExample } },
      errors: reading,
    },
    [`PUT ${P}/{fileId}/metadata`]: {
      id: named("replace", "Metadata"),
      tag,
      about: "A field that the body leaves out is gone. Searches find the new metadata as soon as this answers.",
      body: { schema: metadata, example: metadataExample, text: "The whole metadata." },
      answers: { 200: { text: "As stored.", json: metadata, example: metadataExample } },
      errors: { ...reading, 400: "`validation_violation`, or `too_many_attributes`." },
    },
    [`GET ${P}/{fileId}/variants`]: {
      id: named("list", "Variants"),
      tag,
      about:
        "A variant is the image in another size. It is made by a queue: poll until its `state` is `ready` or `failed`.",
      answers: { 200: { text: "Its variants.", json: list(ref("Variant")) } },
      errors: reading,
    },
    [`POST ${P}/{fileId}/variants`]: {
      id: named("create", "Variants"),
      tag,
      about:
        "At least one size. Existing and pending variants stay, failed ones are made again. Variants are " +
        "never enlarged.",
      answers: { 200: { text: "All variants; the new ones are `pending`.", json: list(ref("Variant")) } },
      errors: { ...reading, 400: VARIANTS_400 },
    },
    [`DELETE ${P}/{fileId}/variants`]: {
      id: named("delete", "Variants"),
      tag,
      about: "Those in `clip` and `crop`, or all.",
      answers: { 204: { text: "Deleted." } },
      errors: { ...reading, 400: "`validation_violation`, or `too_many_variants`." },
    },
    [`POST ${B}`]: {
      id: named("bulkCreate", "Variants"),
      tag,
      about: EACH_PAGE,
      answers: {
        200: COUNTED,
        202: { text: "They will be made.", json: ref("BulkCount"), headers: ["Link"] },
      },
      errors: bulkErrors,
    },
    [`DELETE ${B}`]: {
      id: named("bulkDelete", "Variants"),
      tag,
      about: EACH_PAGE,
      answers: {
        200: COUNTED,
        204: { text: "Deleted.", headers: ["Link"] },
      },
      errors: bulkErrors,
    },
  };
}

const CONDITIONS = ["If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"];
const CONTENT_HEADERS = ["ETag", "Last-Modified", "Cache-Control"];
const anyBytes = { "*/*": BYTES };

const content = (id: string): Entry => ({
  id,
  tag: UPLOADS,
  about:
    "Public files need no signature. The link of a private file has one and works for 15 minutes. Types " +
    "that a browser would run are attachments.",
  headers: CONDITIONS,
  answers: {
    200: {
      text: "All bytes.",
      mediaTypes: anyBytes,
      headers: [...CONTENT_HEADERS, "Content-Disposition", "Accept-Ranges"],
    },
    206: {
      text: "The requested part; several as `multipart/byteranges`.",
      mediaTypes: anyBytes,
      headers: [...CONTENT_HEADERS, "Content-Disposition", "Accept-Ranges", "Content-Range"],
    },
    304: { text: "The caller has these bytes.", headers: CONTENT_HEADERS },
    308: {
      text: "Redirects to the content origin, if the deployment has one (`CONTENT_URL`) and this is another.",
      headers: ["Location", "Cache-Control"],
    },
  },
  errors: {
    403: "The link is not valid, or has expired.",
    404: "There is no such content; with `Retry-After`, the variant is being made.",
    412: "",
    416: "",
  },
});

const VARIANT_404 =
  "There is no such file or variant; with `Retry-After`, the variant is being made, and `fallback=true` " +
  "returns the master.";

export const media: ServiceEntries = {
  base: "/media/v2",
  tags: [
    {
      name: TAGS.private,
      description: "Files of a client and a tenant, reached by links of 15 minutes.",
    },
    { name: TAGS.public, description: "Files of a client and a tenant that everybody can fetch." },
    { name: UPLOADS, description: "The targets of links: uploads and content." },
    {
      name: DELETIONS,
      description: "The state of deleted files' bytes; `verified`: a listing of the bucket has none of them.",
    },
  ],
  parameters: fields,
  schemas: {
    NewFile: {
      schema: obj({
        id: str("The file's id: 24 hex digits."),
        uploadLink: uri("For the upload by `PUT` with the declared content type; valid for one hour."),
        commitLink: uri("For the commit by `POST`."),
      }),
      example: {
        id: FILE_ID,
        uploadLink: `${BASE}/uploads/${FILE_ID}?type=image%2Fjpeg&expires=1763003600&signature=c2ln`,
        commitLink: `${BASE}/files/${FILE_ID}/commit`,
      },
    },
    CommittedFile: {
      schema: obj({ id: str("The file's id."), link: uri("The file's own address.") }),
      example: { id: FILE_ID, link: `${BASE}/files/${FILE_ID}` },
    },
    Variant: { schema: obj(variantFields), example: VARIANT },
    File: {
      schema: obj({
        ...fileFields,
        "client?": str("The client that it belongs to, in a list of shared files."),
        "shared?": oneOf(["tenant"], "Who shares it, in a list of shared files."),
        createdAt: time("When its upload link was made."),
        committedAt: time("When it was committed."),
        metadata,
        variants: list(ref("Variant"), "Its variants."),
        "link?": uri("Its content, of public files."),
      }),
      example: {
        ...FILE,
        createdAt: 1_763_000_000_000,
        committedAt: 1_763_000_030_000,
        metadata: metadataExample,
        variants: [VARIANT],
      },
    },
    FileLink: {
      schema: obj({ link: uri("The content, for 15 minutes.") }),
      example: { link: `${BASE}/content/${FILE_ID}?expires=1763000900&signature=c2ln` },
    },
    FileCount: {
      schema: obj({ files: int("How many files."), bytes: int("Their bytes, without variants.") }),
      example: { files: 12, bytes: 5_785_356 },
    },
    BulkCount: {
      schema: obj({
        files: int("Images of this page."),
        transformations: int("Variants of them."),
        "skipped?": int("Those that had no capacity for so many variants and got none; absent: none."),
      }),
      example: { files: 16, transformations: 32 },
    },
    Erasure: { schema: obj(erasureFields), example: ERASURE },
  },
  entries: {
    ...files("private"),
    ...files("public"),
    "GET /files/{fileId}": {
      id: "getPrivateFile",
      tag: TAGS.private,
      about: "At most one variant: `clip` or `crop`, one size.",
      parameters: { tenant: { text: "The file's tenant; another one answers 404.", example: "demo" } },
      headers: ["If-None-Match"],
      answers: {
        200: { text: "The link.", json: ref("FileLink"), headers: ["ETag", "Cache-Control"] },
        304: { text: "The caller has these bytes.", headers: ["ETag", "Cache-Control"] },
      },
      errors: { 403: FORBIDDEN, 404: VARIANT_404 },
    },
    "GET /public/files/{fileId}": {
      id: "getPublicFile",
      tag: TAGS.public,
      about: "At most one variant: `clip` or `crop`, one size.",
      parameters: { tenant: { text: "The file's tenant; another one answers 404.", example: "demo" } },
      headers: ["If-None-Match"],
      answers: {
        302: { text: "To the content.", headers: ["Location", "ETag", "Cache-Control"] },
        304: { text: "The caller has these bytes.", headers: ["ETag", "Cache-Control"] },
      },
      errors: { 404: VARIANT_404 },
    },
    "PUT /uploads/{fileId}": {
      id: "uploadFile",
      tag: UPLOADS,
      about:
        "The target of `uploadLink`, unless the deployment lets uploads go straight to the bucket. Works " +
        "once; a failed upload stores nothing and may be repeated.",
      headers: ["Content-Disposition", "Content-MD5", "Content-Digest", "Repr-Digest"],
      body: { schema: BYTES, text: "The whole file, with the declared `Content-Type`." },
      answers: { 200: { text: "All are stored.", headers: ["ETag"] } },
      errors: {
        400: "The body is incomplete, does not match its digest, or is only a part of the file (`Content-Range`).",
        403: "The link is not valid, or has expired.",
        404: NO_FILE,
        409: "`already_uploaded`; or `upload_changed`: another upload to the link ran at the same time.",
        413:
          "The file is larger than the deployment allows; or `quota_exceeded`: larger than the rest of the " +
          "tenant's quota.",
        415: "The content type is not the declared one, or there is a `Content-Encoding`.",
      },
    },
    "GET /erasures/{erasureId}": {
      id: "getErasure",
      tag: DELETIONS,
      about:
        "From the deletion on nobody can read the files. Poll until `state` is `deleted`, or `verified` if you need the proof.",
      answers: { 200: { text: "The progress.", json: ref("Erasure") } },
      errors: { 403: FORBIDDEN, 404: "" },
    },
    "GET /erasures": {
      id: "listErasures",
      tag: DELETIONS,
      about: "Shows the deletions that the calling client asked for in the tenant, with how far each one is.",
      answers: {
        200: { text: "A page of deletions, the newest first.", json: list(ref("Erasure")), headers: ["Link"] },
      },
      errors: { 403: FORBIDDEN, 404: "There is no such tenant for this token." },
    },
    "GET /content/{fileId}": content("getContent"),
    "GET /content/{fileId}/{variant}": content("getVariantContent"),
  },
};
