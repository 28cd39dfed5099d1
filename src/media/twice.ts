/** Tries a write once more whose answer was lost, or that failed: only for one that changes nothing the second time. */
export async function twice<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch {
    return await write();
  }
}
