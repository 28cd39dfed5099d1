/**
 * Limits the bytes that the requests of one isolate hold in memory, all and those of one owner, and allows one
 * reservation of each key. A reservation is a function that releases the bytes; undefined if it was refused. It ends
 * after `ttlMs` by itself, since the runtime may end its request.
 */
export function createReservations(maxBytes: number, ttlMs: number, maxBytesOfOwner = maxBytes) {
  const held = new Map<string, { readonly bytes: number; readonly endsAtMs: number; readonly owner: string }>();
  return (key: string, bytes: number, nowMs: number, owner = key): (() => void) | undefined => {
    let [all, own] = [bytes, bytes];
    for (const [other, reservation] of held)
      if (reservation.endsAtMs <= nowMs) held.delete(other);
      else {
        all += reservation.bytes;
        if (reservation.owner === owner) own += reservation.bytes;
      }
    if (all > maxBytes || own > maxBytesOfOwner || held.has(key)) return undefined;
    const reservation = { bytes, endsAtMs: nowMs + ttlMs, owner };
    held.set(key, reservation);
    // If the reservation has expired, its key may have another one by now.
    return () => void (held.get(key) === reservation && held.delete(key));
  };
}
