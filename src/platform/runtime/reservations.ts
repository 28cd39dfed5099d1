/**
 * Limits the bytes that the requests of one isolate hold in memory, and allows one reservation of each key. A
 * reservation is a function that releases the bytes; undefined if it was refused. It ends after `ttlMs` by itself,
 * since the runtime may end its request.
 */
export function createReservations(maxBytes: number, ttlMs: number) {
  const held = new Map<string, { readonly bytes: number; readonly endsAtMs: number }>();
  return (key: string, bytes: number, nowMs: number): (() => void) | undefined => {
    for (const [other, { endsAtMs }] of held) if (endsAtMs <= nowMs) held.delete(other);
    const heldBytes = [...held.values()].reduce((sum, reservation) => sum + reservation.bytes, 0);
    if (heldBytes + bytes > maxBytes || held.has(key)) return undefined;
    const reservation = { bytes, endsAtMs: nowMs + ttlMs };
    held.set(key, reservation);
    // If the reservation has expired, its key may have another one by now.
    return () => void (held.get(key) === reservation && held.delete(key));
  };
}
