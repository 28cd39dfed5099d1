const BEGINNING = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * The beginning of a topic's name as the service looks for it: `demo.shop/order`, as programs write it, is
 * `demo.shop.order`. Undefined if no name begins like this.
 */
export function beginningOf(text: string): string | undefined {
  const beginning = text.trim().replace("/", ".");
  return BEGINNING.test(beginning) ? beginning : undefined;
}
