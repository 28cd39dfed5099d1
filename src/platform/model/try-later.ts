/**
 * A request that a later one may repeat with success: the caller gets 503 with `Retry-After`. The message is for the
 * caller.
 */
export class TryLater extends Error {
  override name = "TryLater";
  readonly retryAfterSec: number;

  constructor(message: string, retryAfterSec: number) {
    super(message);
    this.retryAfterSec = retryAfterSec;
  }
}
