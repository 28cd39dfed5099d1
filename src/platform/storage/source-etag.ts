/**
 * The name in an object's metadata of the ETag that its bytes had where they were written first. An object that was
 * uploaded in parts has another ETag after it was copied or restored, and the same bytes.
 */
export const SOURCE_ETAG = "sourceEtag";

export const sourceEtagOf = ({ etag, customMetadata }: Pick<R2Object, "etag" | "customMetadata">): string =>
  customMetadata?.[SOURCE_ETAG] ?? etag;
