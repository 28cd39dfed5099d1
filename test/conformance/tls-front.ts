import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";

/**
 * TLS before servers of this machine that speak plain HTTP: the platform, and the suite where nothing else stands
 * before it. As a command:
 * `npx node test/conformance/tls-front.ts 8443=http://127.0.0.1:8080 8444=http://127.0.0.1:8080`.
 */
const HOST = "127.0.0.1";

/** The suites that FAPI 2.0 allows for TLS 1.2. */
const CIPHERS = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES256-GCM-SHA384",
].join(":");

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A key and a certificate for `localhost`, signed by an authority that exists for this call alone. */
export function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "plinth-tls-"));
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): Buffer => execFileSync("openssl", args, { stdio: ["ignore", "pipe", "pipe"] });
  const newKey = ["-newkey", "rsa:2048", "-noenc", "-sha256"];
  openssl("req", "-x509", ...newKey, "-days", "2", "-subj", "/CN=local", "-keyout", at("ca.key"), "-out", at("ca.pem"));
  openssl("req", ...newKey, "-subj", "/CN=localhost", "-keyout", at("key"), "-out", at("csr"));
  writeFileSync(at("ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n");
  const signer = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at("ext")];
  openssl("x509", "-req", "-days", "2", "-sha256", "-in", at("csr"), ...signer, "-out", at("cert"));
  return {
    key: readFileSync(at("key"), "utf8"),
    cert: readFileSync(at("cert"), "utf8") + readFileSync(at("ca.pem"), "utf8"),
  };
}

/** Passes requests on to `target` and says by headers how they came. */
export async function startFront(port: number, target: string, certificate: Certificate): Promise<() => void> {
  const server = createServer({ ...certificate, minVersion: "TLSv1.2", ciphers: CIPHERS }, (message, response) => {
    const cipher = (message.socket as TLSSocket).getCipher();
    const headers = {
      ...message.headers,
      "x-forwarded-proto": "https",
      "x-forwarded-host": `localhost:${port}`,
      "x-forwarded-port": String(port),
      "x-forwarded-for": HOST,
      "x-ssl-cipher": cipher.standardName,
      "x-ssl-protocol": cipher.version,
    };
    const sent = request(new URL(message.url ?? "/", target).href, { method: message.method, headers, setHost: false });
    sent.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    message.on("error", () => sent.destroy());
    message.pipe(sent);
  });
  server.listen(port, HOST);
  await once(server, "listening");
  return () => {
    server.closeAllConnections();
    server.close();
  };
}

if (import.meta.main) {
  const certificate = makeCertificate();
  for (const arg of process.argv.slice(2)) {
    const [port = "", target = ""] = arg.split("=");
    await startFront(Number(port), target, certificate);
    console.log(`https://localhost:${port} → ${target}`);
  }
}
