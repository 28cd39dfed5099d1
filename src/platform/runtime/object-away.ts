/** The error of a call of an object. The runtime sets these properties. */
interface ObjectFault {
  readonly message?: string;
  readonly retryable?: boolean;
  readonly overloaded?: boolean;
  readonly durableObjectReset?: boolean;
}

/**
 * True if an object is restarting or overloaded, if its previous instance still holds the storage, or if it still runs
 * an older release, which lacks the method. A later call may succeed.
 */
export function isObjectAway(thrown: unknown): boolean {
  const { retryable, overloaded, durableObjectReset, message = "" } = (thrown ?? {}) as ObjectFault;
  return (
    retryable === true ||
    overloaded === true ||
    durableObjectReset === true ||
    /\bSQLITE_BUSY\b|\bRPC receiver does not implement\b/.test(message)
  );
}
