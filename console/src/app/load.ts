import { noAnswer } from "../../../packages/sdk/src/errors.ts";
import { CONSOLE_PATH } from "../session/config.ts";

/** True if the platform answers. */
const isReachable = (): Promise<boolean> =>
  fetch(`${CONSOLE_PATH}/config.json`).then(
    ({ ok }) => ok,
    () => false,
  );

/**
 * Loads a page. If that fails although the platform answers, the script is of an older release, and the router loads
 * the document again. Without an answer, only the browser's own error would be left of the console. So the page says
 * that the platform cannot be reached, and everything around it stays.
 */
export async function load<T>(part: () => Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (error) {
    throw (await isReachable()) ? error : noAnswer(error, "");
  }
}

/** Loads the document again if the platform answers: a browser asks only once for a script that it did not get. */
export async function reload(): Promise<void> {
  if (await isReachable()) location.reload();
}
