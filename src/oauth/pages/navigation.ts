import { invalid, type Problem } from "../../http/errors.ts";

/**
 * Pages are for people who go there, never for a script that reads them (Fetch Metadata). Without `AUTH_URL` the pages of
 * services share this origin, and a script of theirs could read a form, its token and what is typed there. A browser says
 * for whom a request is in `Sec-Fetch-Dest`, which no script can set. What is no browser does not send it.
 *
 *   account, its forms      a document of its own
 *   `/authorize` and what   a frame too: a hidden one renews tokens (`prompt=none`); whatever page comes of it refuses to
 *   a sign-in goes through  be framed
 */
export const DOCUMENT = ["document"] as const;
export const DOCUMENT_OR_FRAME = ["document", "iframe", "frame"] as const;

/** A guard of a service. */
export const navigatedTo =
  (as: readonly string[]) =>
  async (request: Request): Promise<Problem | undefined> => {
    const destination = request.headers.get("sec-fetch-dest");
    return destination === null || as.includes(destination)
      ? undefined
      : invalid("invalid_header", "Sec-Fetch-Dest", "This address shows a page. Open it in the browser's window.");
  };
