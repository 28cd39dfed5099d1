export { createPlinth, type Plinth, type PlinthOptions } from "./plinth.ts";
export type { ClientCredentials, Credentials, TokenFunction } from "./credentials.ts";
export type { Batch, ConsumedEvent, NewEvent, StoredEvent } from "./event.ts";
export type { Publisher, ReadOptions, Topic, TopicOptions, TopicStatus } from "./topic.ts";
export type { ConsumeOptions, ProcessOptions } from "./consume.ts";
export type {
  Content,
  Files,
  LinkOptions,
  Search,
  Sizes,
  StoredFile,
  UploadedFile,
  UploadOptions,
  Variant,
} from "./files.ts";
export type { Ask } from "./transport.ts";
export {
  ConflictError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  PlinthError,
  RateLimitError,
  UnauthorizedError,
  UnavailableError,
  type ErrorDetail,
} from "./errors.ts";
export * from "./verify.ts";
