import type { DetailType } from "../../http/detail-types.ts";
import { invalid, notFound, problem, type Problem } from "../../http/errors.ts";
import { LIMITS } from "./limits.ts";
import type { DigestHeader } from "./upload-digest.ts";

/** All failures of the media service, and the problem that each becomes. */
export type MediaFailure =
  | { readonly kind: "no_file" }
  | { readonly kind: "no_variant" }
  | { readonly kind: "no_erasure" }
  | { readonly kind: "query_too_broad"; readonly of: keyof typeof TOO_BROAD }
  | { readonly kind: "variant_pending" }
  | { readonly kind: "variant_failed"; readonly reason: string }
  | { readonly kind: "no_content" }
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
  | { readonly kind: "no_place"; readonly tenant: string }
  /** The upload has more bytes than the quota has left. */
  | { readonly kind: "no_room" }
  | { readonly kind: "too_many_pending"; readonly count: number }
  | { readonly kind: "commit_unavailable"; readonly reason: string }
  | { readonly kind: "content_unavailable"; readonly reason: string }
  | { readonly kind: "upload_changed" }
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

export function toProblem(failure: MediaFailure): Problem {
  switch (failure.kind) {
    case "no_file":
      return notFound("file");
    case "no_variant":
      return notFound("variant");
    case "no_erasure":
      return notFound("deletion");
    case "query_too_broad":
      return businessError("query_too_broad", TOO_BROAD[failure.of]);
    case "no_content":
      return notFound("content");
    case "variant_pending":
      return problem("element_resource_non_existing", "This variant is still being made.", {
        headers: { "retry-after": String(LIMITS.variantRetryAfterSec) },
      });
    case "variant_failed":
      return problem("element_resource_non_existing", `This variant could not be made: ${failure.reason}`);
    case "foreign_tenant":
      // As for an unknown tenant, so that nobody learns which tenants exist.
      return notFound("tenant");
    case "link_forged":
      return problem("insufficient_permissions", "The link is not valid: use it exactly as it was given.");
    case "link_expired":
      return problem("insufficient_permissions", "The link has expired: get a new one.");
    case "wrong_content_type":
      return problem("unsupported_request_content_type", `Send the file as ${failure.expected}.`);
    case "content_encoding":
      return problem("unsupported_request_content_type", "Send the file without a Content-Encoding.");
    case "too_large":
      return problem("bad_payload_size", `A file has at most ${failure.maxBytes} bytes.`);
    case "interrupted": {
      const message = "The body is not as long as Content-Length says, or it broke off. Nothing was kept.";
      return invalid("invalid_header", "Content-Length", message);
    }
    case "partial_upload":
      return invalid(
        "invalid_header",
        "Content-Range",
        "A file is uploaded whole: send all of it, without Content-Range.",
      );
    case "malformed_digest":
      return invalid(
        "invalid_header",
        failure.header,
        `${failure.header} must be like ${DIGEST_EXAMPLES[failure.header]}.`,
      );
    case "other_digest": {
      const message = `The body is not what ${failure.header} says. Nothing was kept: upload again with the same link.`;
      return invalid("invalid_header", failure.header, message);
    }
    case "storage_unavailable":
      return problem(
        "service_temporarily_unavailable",
        "The storage did not answer. Upload again with the same link; already_uploaded then means that it had worked.",
        { headers: { "retry-after": "5" }, reason: failure.reason },
      );
    case "quota_exceeded": {
      const message = `The tenant ${failure.tenant} has used up its quota. The file can be committed once there is room.`;
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    case "no_place": {
      const message = `What the tenant ${failure.tenant} stores, and its files that wait for their commit, fill its quota.`;
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    case "no_room": {
      const message = "The tenant's quota has no room for these bytes. The link takes them once there is.";
      return problem("bad_payload_size", message, { details: [{ type: "quota_exceeded", field: "", message }] });
    }
    case "too_many_pending": {
      const message = `Your client has ${failure.count} files that wait for their commit: commit or delete some of them.`;
      return problem("insufficient_resources", message, { headers: { "retry-after": "60" } });
    }
    case "commit_unavailable":
      return problem("service_temporarily_unavailable", "The storage did not answer. Nothing is lost: commit again.", {
        headers: { "retry-after": "5" },
        reason: failure.reason,
      });
    case "content_unavailable":
      return problem("service_temporarily_unavailable", "The storage did not answer: ask again.", {
        headers: { "retry-after": "5" },
        reason: failure.reason,
      });
    case "upload_changed":
      return conflict("upload_changed", "The file was uploaded again and again meanwhile: commit when that has ended.");
    case "already_uploaded":
      return conflict("already_uploaded", "The file was uploaded before; files do not change.");
    case "file_not_uploaded":
      return conflict("file_not_uploaded", "Nothing was uploaded yet: send the file to its uploadLink first.");
    case "already_committed":
      return conflict(
        "already_committed",
        "The file was committed before, with another body or tenant: to repeat a commit, send the very same text.",
      );
    case "unsupported_content_type":
      return businessError(
        "unsupported_content_type",
        `Variants are made of image/jpeg, image/gif and image/png, not of ${failure.contentType}.`,
      );
    case "no_variant_named":
      return invalid("missing_query_parameter", "clip", "Name at least one size with clip or crop.");
    case "several_variants_named":
      return invalid("invalid_query_parameter", "clip", "Name one variant only, with clip or crop.");
    case "too_many_transformations":
      return businessError(
        "too_many_transformations",
        `pageSize times the number of sizes is ${failure.requested}, at most ${LIMITS.transformationsPerBulk} are done at a time: ask for a smaller pageSize.`,
      );
    case "too_many_variants":
      return businessError("too_many_variants", `A file has at most ${LIMITS.variantsPerFile} variants.`);
    case "too_many_attributes":
      return businessError(
        "too_many_attributes",
        `The metadata of a file has at most ${LIMITS.pairsPerFile} different attributes; each element of an array is one.`,
      );
    case "precondition_failed":
      return problem("precondition_failed", "The content is not the one that the request's condition names.");
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

/** Reasons, each with a way around it. */
const TOO_BROAD = {
  terms: "Too many files match for one answer of the database: add a term that fewer files have.",
  order: "Too many files are to be looked at in this order: leave out sort, or add a term that fewer files have.",
  pageNumber: "The page is too far in to be reached by its number: start at the first page and follow the next links.",
  deletion: "Too many files match to be deleted in one write: nothing was. Add a term, and delete them part by part.",
} as const;

const conflict = (type: DetailType, message: string): Problem =>
  problem("conflict_resource", message, { details: [{ type, message }] });

const businessError = (type: DetailType, message: string): Problem =>
  problem("business_error", message, { details: [{ type, message }] });
