import * as z from "zod/mini";
import { defineRoute, type Route } from "../../http/route.ts";
import { documentResponse } from "../parts/layout.ts";
import { html, type Child } from "../parts/markup.ts";

const mails = z.array(z.object({ to: z.string(), subject: z.string(), sentAt: z.string(), text: z.string() }));

/** `/dev/mail`: the mails of a local platform, the newest first. There is no such binding on Cloudflare. */
export const createMailboxRoutes = (mailbox: Fetcher, pathPrefix: string): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/dev/mail",
    summary: "Read the mails that a local platform sent",
    operation: "readDocuments",
    produces: "any",
    async handle({ publicBase }) {
      const sent = mails.parse(await (await mailbox.fetch("http://mailbox/")).json());
      const title = "Mail";
      const main = html`<h1>${title}</h1>
        <p>Every mail that this local platform sent, the newest first. They are files in the state folder too.</p>
        ${sent.length === 0 ? html`<p>No mail yet.</p>` : undefined}
        ${sent.map(
          ({ to, subject, sentAt, text }) =>
            html`<section>
              <h2>${subject}</h2>
              <p>to <bdi>${to}</bdi>, <time>${sentAt}</time></p>
              ${text
                .trim()
                .split("\n\n")
                .map((paragraph) => html`<p>${withLink(paragraph)}</p>`)}
            </section>`,
        )}`;
      return documentResponse({ status: 200, lang: "en", layout: "wide", title, publicBase, main }, pathPrefix);
    },
  }),
];

const withLink = (text: string): Child => (/^https?:\/\/\S+$/.test(text) ? html`<a href="${text}">${text}</a>` : text);
