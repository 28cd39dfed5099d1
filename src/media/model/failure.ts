import type { DetailType } from "../../http/errors/detail-types.ts";
import { conflict, invalid, isProblem, notFound, problem, type Problem } from "../../http/errors/errors.ts";
import { LIMITS } from "./limits.ts";
import type { DigestHeader } from "./upload-digest.ts";

/** All failures of the media service, and the problem that each becomes. */
export type MediaFailure =
  | { readonly kind: "no_file" }
  /** The file is shared with the caller, who may read it but not change it. */
  | { readonly kind: "shared_file"; readonly missingScope: string }
  | { readonly kind: "no_variant" }
  | { readonly kind: "no_erasure" }
  | { readonly kind: "query_too_broad"; readonly of: keyof typeof TOO_BROAD }
  | { readonly kind: "variant_pending" }
  | { readonly kind: "variant_failed"; readonly reason: string }
  | { readonly kind: "no_content" }
  /** The file is here, and has no content of this name, or its bytes are gone. */
  | { readonly kind: "no_bytes" }
  | { readonly kind: "foreign_tenant" }
  | { readonly kind: "link_forged" }
  | { readonly kind: "link_expired" }
  | { readonly kind: "wrong_content_type"; readonly expected: string }
  | { readonly kind: "content_encoding" }
  | { readonly kind: "too_large"; readonly maxBytes: number }
  | { readonly kind: "interrupted" }
  | { readonly kind: "partial_upload" }
  | { readonly kind: "malformed_digest" | "other_digest"; readonly header: DigestHeader }
  | { readonly kind: "storage_unavailable"; readonly reason: string }
  | { readonly kind: "quota_exceeded"; readonly tenant: string }
  /** Committed and pending files fill the tenant's quota of files. */
  | { readonly kind: "quota_full"; readonly tenant: string }
  /** The upload has more bytes than the quota has left. */
  | { readonly kind: "upload_over_quota" }
  | { readonly kind: "too_many_pending"; readonly count: number }
  | { readonly kind: "commit_unavailable"; readonly reason: string }
  | { readonly kind: "content_unavailable"; readonly reason: string }
  | { readonly kind: "upload_changed" }
  /** Another upload to the same link took the place of this one. */
  | { readonly kind: "upload_replaced" }
  | { readonly kind: "already_uploaded" }
  | { readonly kind: "file_not_uploaded" }
  | { readonly kind: "already_committed" }
  | { readonly kind: "unsupported_content_type"; readonly contentType: string }
  | { readonly kind: "no_variant_named" }
  | { readonly kind: "several_variants_named" }
  | { readonly kind: "too_many_variants" }
  | { readonly kind: "too_many_attributes" }
  | { readonly kind: "too_many_transformations"; readonly requested: number }
  | { readonly kind: "precondition_failed" }
  | { readonly kind: "range_not_satisfiable"; readonly sizeBytes: number };

/** The answer of a shard that does not have the file. Another one may have it (shards/look.ts). */
interface MissingFile extends Problem {
  readonly isMissingFile: true;
}

const missing = (what: string): MissingFile => ({ ...notFound(what), isMissingFile: true });

/** False for a 404 about a part of a file that is here, such as a variant that is still being made. */
export const isMissingFile = (answer: object): answer is MissingFile => isProblem(answer) && "isMissingFile" in answer;

export function toProblem(failure: MediaFailure): Problem {
  switch (failure.kind) {
    case "no_file":
      return missing("file");
    case "shared_file":
      return problem(
        "insufficient_permissions",
        `The file belongs to another client, which shares it. To change it, your token also needs the scope ${failure.missingScope}.`,
      );
    case "no_variant":
      return problem(
        "element_resource_non_existing",
        "There is no such variant, or it is not yours. A POST to the file's /variants makes it.",
      );
    case "no_erasure":
      return notFound("deletion");
    case "query_too_broad":
      return businessError("query_too_broad", TOO_BROAD[failure.of]);
    case "no_content":
      return missing("content");
    case "no_bytes":
      return notFound("content");
    case "variant_pending":
      return problem("element_resource_non_existing", "This variant is still being made.", {
        headers: { "retry-after": String(LIMITS.variantRetryAfterSec) },
      });
    case "variant_failed":
      return problem("element_resource_non_existing", `This variant could not be made: ${failure.reason}`);
    case "foreign_tenant":
      // The answer is the same as for an unknown tenant, so that nobody learns which tenants exist.
      return notFound("tenant");
    case "link_forged":
      return problem("insufficient_permissions", "The link is not valid. Use it exactly as you received it.");
    case "link_expired":
      return problem("insufficient_permissions", "The link has expired. Get a new one.");
    case "wrong_content_type":
      return problem(
        "unsupported_request_content_type",
        `Send the file as ${failure.expected}, the Content-Type in the body of its creation (default binary/octet-stream).`,
      );
    case "content_encoding":
      return problem("unsupported_request_content_type", "Send the file without a Content-Encoding.");
    case "too_large":
      return problem("bad_payload_size", `A file can have at most ${failure.maxBytes} bytes.`);
    case "interrupted": {
      const message = "The body is incomplete or does not match Content-Length. Nothing was stored.";
      return invalid("invalid_header", "Content-Length", message);
    }
    case "partial_upload":
      return invalid(
        "invalid_header",
        "Content-Range",
        "Partial uploads are not supported. Send the whole file without Content-Range.",
      );
    case "malformed_digest":
      return invalid(
        "invalid_header",
        failure.header,
        `${failure.header} must be like ${DIGEST_EXAMPLES[failure.header]}.`,
      );
    case "other_digest": {
      const message = `The body does not match ${failure.header}. Nothing was stored. Upload again with the same link.`;
      return invalid("invalid_header", failure.header, message);
    }
    case "storage_unavailable":
      return problem(
        "service_temporarily_unavailable",
        "The storage did not answer. Upload again with the same link. If the answer is already_uploaded, the first upload worked.",
        { headers: { "retry-after": "5" }, reason: failure.reason },
      );
    case "quota_exceeded": {
      const message = `The tenant ${failure.tenant} has used up its quota. Commit the file again when there is space.`;
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    case "quota_full": {
      const message = `The files of the tenant ${failure.tenant}, uncommitted ones included, fill its quota.`;
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    case "upload_over_quota": {
      const message = "The tenant's quota has no space for these bytes. Upload again with the same link when there is.";
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    case "too_many_pending": {
      const message = `Your client has ${failure.count} uncommitted files. Commit or delete some of them.`;
      return problem("insufficient_resources", message, { headers: { "retry-after": "60" } });
    }
    case "commit_unavailable":
      return problem("service_temporarily_unavailable", "The storage did not answer. Nothing is lost. Commit again.", {
        headers: { "retry-after": "5" },
        reason: failure.reason,
      });
    case "content_unavailable":
      return problem("service_temporarily_unavailable", "The storage did not answer. Try again.", {
        headers: { "retry-after": "5" },
        reason: failure.reason,
      });
    case "upload_changed":
      return conflict(
        "upload_changed",
        "",
        "The file was uploaded again during the commit. Commit when the uploads have ended.",
      );
    case "upload_replaced":
      return conflict(
        "upload_changed",
        "",
        "Another upload to this link ran at the same time and took the place of this one. Commit when it has ended. If the file is not uploaded then, upload it again with the same link.",
      );
    case "already_uploaded":
      return conflict("already_uploaded", "", "The file was uploaded already. Files cannot be changed.");
    case "file_not_uploaded":
      return conflict("file_not_uploaded", "", "The file was not uploaded yet. Upload it to its uploadLink first.");
    case "already_committed":
      return conflict(
        "already_committed",
        "",
        "The file was committed already, with another body or tenant. To repeat a commit, send exactly the same body.",
      );
    case "unsupported_content_type":
      return businessError(
        "unsupported_content_type",
        `Variants are made from image/jpeg, image/gif and image/png, not from ${failure.contentType}.`,
      );
    case "no_variant_named":
      return invalid("missing_query_parameter", "clip", "Name at least one size with clip or crop.");
    case "several_variants_named":
      return invalid("invalid_query_parameter", "clip", "Name only one variant, with clip or crop.");
    case "too_many_transformations":
      return businessError(
        "too_many_transformations",
        `pageSize times the number of sizes is ${failure.requested}. The limit is ${LIMITS.transformationsPerBulk}: use a smaller pageSize.`,
      );
    case "too_many_variants":
      return businessError("too_many_variants", `A file can have at most ${LIMITS.variantsPerFile} variants.`);
    case "too_many_attributes":
      return businessError(
        "too_many_attributes",
        `The metadata of a file can have at most ${LIMITS.pairsPerFile} different attributes. Each element of an array counts.`,
      );
    case "precondition_failed":
      return problem("precondition_failed", "The content does not meet the request's condition.");
    case "range_not_satisfiable":
      return problem("range_not_satisfiable", `The content has ${failure.sizeBytes} bytes.`, {
        headers: { "content-range": `bytes */${failure.sizeBytes}` },
      });
  }
}

const DIGEST_EXAMPLES: Readonly<Record<DigestHeader, string>> = {
  "Content-MD5": "1B2M2Y8AsgTpgAmY7PhCfg== (16 bytes in base64)",
  "Content-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
  "Repr-Digest": "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
};

/** Texts for each kind of query, each with advice. */
const TOO_BROAD = {
  terms: "The query matches too many files. Add a term that fewer files have.",
  order: "Sorting would read too many files. Leave out sort, or add a term that fewer files have.",
  pageNumber:
    "The page is too far from the start to be reached by number. Start at the first page and follow the next links.",
  deletion:
    "The query matches too many files for one deletion. Nothing was deleted. Add a term and delete them in parts.",
} as const;

const businessError = (type: DetailType, message: string): Problem =>
  problem("business_error", message, { details: [{ type, message }] });
