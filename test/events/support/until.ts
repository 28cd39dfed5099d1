/**
 * Waits until a condition is true, which takes milliseconds. It polls: a promise of one object must not be resolved by
 * another object.
 */
export async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 500; looks++) {
    if (await is()) return;
    // Not `setTimeout`, which tests replace.
    await scheduler.wait(5);
  }
  throw new Error("it did not come to this");
}
