import type { S3Access } from "../../../src/config.ts";

/**
 * Presigned uploads on this machine. With R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY set, Miniflare serves the S3 API
 * of its bucket at its own port (server.ts), not at the Worker's. It answers no other origin, so browsers cannot
 * upload there.
 */
const PATH = "/cdn-cgi/local/r2/s3";
/** A fixed offset, so that links stay valid after a restart. */
const PORT_OFFSET = 10;

/** Adds missing S3 variables if credentials are set. */
export function withLocalS3(
  vars: Readonly<Record<string, string>>,
  local: { readonly host: string; readonly port: number; readonly bucket: string },
): Readonly<Record<string, string>> {
  if (!vars["R2_ACCESS_KEY_ID"] && !vars["R2_SECRET_ACCESS_KEY"]) return vars;
  return {
    ...vars,
    R2_S3_ENDPOINT: vars["R2_S3_ENDPOINT"] || `http://${local.host}:${local.port + PORT_OFFSET}${PATH}`,
    R2_BUCKET: vars["R2_BUCKET"] || local.bucket,
  };
}

/** The port for Miniflare's own server; undefined if the endpoint is elsewhere. */
export function localS3Port(s3: S3Access | undefined, host: string): number | undefined {
  const url = new URL(s3?.endpoint ?? "none:");
  return url.hostname === host && url.pathname === PATH ? Number(url.port) : undefined;
}

/** Miniflare's options with the bucket open to the credentials. */
export function withS3Credentials<W extends object>(worker: W, s3: S3Access): W & { readonly r2Buckets: object } {
  const { r2Buckets = {} } = worker as { readonly r2Buckets?: Record<string, { readonly id: string }> };
  const s3Credentials = { accessKeyId: s3.accessKeyId, secretAccessKey: s3.secretAccessKey };
  const opened = Object.entries(r2Buckets).map(([binding, { id }]) => [
    binding,
    id === s3.bucket ? { id, s3Credentials } : { id },
  ]);
  return { ...worker, r2Buckets: Object.fromEntries(opened) as object };
}
