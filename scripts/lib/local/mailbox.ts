import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Response, type Request } from "miniflare";

/**
 * The mails of a local platform. The Worker sends them by the same binding as on Cloudflare; here they become files:
 *
 *   Worker ── MAIL.send() ──▶ worker `mailbox` ──▶ {state}/mail/{time}.eml, and a line on the terminal
 *   browser ── /dev/mail ──▶ Worker ── MAILBOX ──▶ these files
 */
interface SentMail {
  readonly from: { readonly name: string; readonly email: string };
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** The number of mails at /dev/mail, the newest first. */
const SHOWN = 50;

/** The worker behind the binding, with the method of Cloudflare's own. */
const SCRIPT = `
  import { WorkerEntrypoint } from "cloudflare:workers";
  export class Mailbox extends WorkerEntrypoint {
    async send(mail) {
      const answer = await this.env.FILES.fetch("http://mailbox/", { method: "POST", body: JSON.stringify(mail) });
      return answer.json();
    }
  }
  export default { fetch: (request, env) => env.FILES.fetch(request) };`;

export const MAILBOX = "mailbox";

/** The worker that takes the mails of the platform, for Miniflare. */
export function mailboxWorker(stateDir: string) {
  const folder = join(stateDir, "mail");
  return {
    name: MAILBOX,
    modules: [{ type: "ESModule" as const, path: "mailbox.mjs", contents: SCRIPT }],
    compatibilityDate: "2026-10-20",
    serviceBindings: { FILES: async (request: Request) => answer(folder, request) },
  };
}

async function answer(folder: string, request: Request): Promise<Response> {
  if (request.method !== "POST") return Response.json(list(folder));
  const mail = (await request.json()) as SentMail;
  const sentAt = new Date();
  mkdirSync(folder, { recursive: true });
  const name = `${sentAt.toISOString().replaceAll(/[:.]/g, "-")}-${Math.random().toString(36).slice(2, 6)}.eml`;
  const path = join(folder, name);
  // Only its owner can read the file: its link may open an account.
  writeFileSync(path, toEml(mail, sentAt), { mode: 0o600 });
  console.log(`mail to ${mail.to}: ${mail.subject} (${path})`);
  return Response.json({ messageId: name });
}

const base64 = (text: string): string =>
  (
    Buffer.from(text)
      .toString("base64")
      .match(/.{1,76}/g) ?? []
  ).join("\r\n");
const word = (text: string): string => `=?utf-8?B?${Buffer.from(text).toString("base64")}?=`;

/** Writes a mail as text (RFC 5322 and 2046). */
function toEml({ from, to, subject, text, html }: SentMail, sentAt: Date): string {
  const part = (type: string, content: string): string =>
    `--part\r\nContent-Type: ${type}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64(content)}\r\n`;
  const head = [
    `From: ${from.name === "" ? "" : `${word(from.name)} `}<${from.email}>`,
    `To: <${to}>`,
    `Subject: ${word(subject)}`,
    `Date: ${sentAt.toUTCString().replace("GMT", "+0000")}`,
    "MIME-Version: 1.0",
    `Content-Type: multipart/alternative; boundary=part`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${part("text/plain", text)}${part("text/html", html)}--part--\r\n`;
}

interface ListedMail {
  readonly to: string;
  readonly subject: string;
  readonly sentAt: string;
  readonly text: string;
}

function list(folder: string): readonly ListedMail[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const newest = names.filter((name) => name.endsWith(".eml")).toSorted((a, b) => (a < b ? 1 : -1));
  return newest.slice(0, SHOWN).map((name) => fromEml(readFileSync(join(folder, name), "utf8")));
}

/** Reads a mail that `toEml` wrote. */
function fromEml(eml: string): ListedMail {
  const decode = (text: string): string => Buffer.from(text, "base64").toString();
  const found = (pattern: RegExp): string => pattern.exec(eml)?.[1] ?? "";
  return {
    to: found(/^To: <(.*)>\r$/m),
    subject: decode(found(/^Subject: =\?utf-8\?B\?(.*)\?=\r$/m)),
    sentAt: found(/^Date: (.*)\r$/m),
    text: decode(found(/text\/plain[^]*?\r\n\r\n([^]*?)\r\n--part/)),
  };
}
