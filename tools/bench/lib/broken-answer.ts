/** An answer that is not what it must be; it ends the bench. */
export class BrokenAnswer extends Error {
  override name = "BrokenAnswer";
}
