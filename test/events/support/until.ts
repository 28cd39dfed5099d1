/** Waits until a condition is true. Tests use it for conditions that take milliseconds. */
export async function until(is: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 500; looks++) {
    if (await is()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error("it did not come to this");
}
