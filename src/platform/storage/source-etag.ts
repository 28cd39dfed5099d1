/**
 * The metadata field of an R2 object with the ETag that its bytes had when they were first written. An object that was
 * uploaded in parts gets another ETag when it is copied or restored, although its bytes are the same.
 */
export const SOURCE_ETAG = "sourceEtag";

export const sourceEtagOf = ({ etag, customMetadata }: Pick<R2Object, "etag" | "customMetadata">): string =>
  customMetadata?.[SOURCE_ETAG] ?? etag;
