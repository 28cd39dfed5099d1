/**
 * Limits the bytes that the requests of one isolate hold in memory, and allows one reservation of each key. The result
 * releases the bytes; a reservation that nobody releases, because the runtime ended its request, ends after `ttlMs`.
 */
export function createReservations(maxBytes: number, ttlMs: number) {
  const held = new Map<string, { readonly bytes: number; readonly endsAtMs: number }>();
  return (key: string, bytes: number, nowMs: number): (() => void) | undefined => {
    for (const [other, { endsAtMs }] of held) if (endsAtMs <= nowMs) held.delete(other);
    const heldBytes = [...held.values()].reduce((sum, reservation) => sum + reservation.bytes, 0);
    if (heldBytes + bytes > maxBytes || held.has(key)) return undefined;
    const reservation = { bytes, endsAtMs: nowMs + ttlMs };
    held.set(key, reservation);
    // An expired reservation may have a successor under its key.
    return () => void (held.get(key) === reservation && held.delete(key));
  };
}
