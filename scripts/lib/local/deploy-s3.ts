import type { Config, S3Access } from "../../../src/config.ts";
import { createS3 } from "../../../src/media/blobs/s3.ts";
import { parseConfig } from "./settings.ts";
import { UserError } from "../user-error.ts";

/** Secrets of presigned uploads, which the Worker of a deployment may have already. */
const SECRETS = ["R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY"];
/** A placeholder in the form of a key, since the settings are checked as a whole. */
const KNOWN_TO_WORKER = "a-key-that-the-worker-has";

export type S3Secrets = Readonly<Record<string, string>>;

/** Secrets from the environment. Every deployment sets them, so new ones replace old ones. */
export const givenS3Secrets = (env: NodeJS.ProcessEnv): S3Secrets =>
  Object.fromEntries(SECRETS.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));

/** The settings as the Worker will see them; missing secrets are assumed to be in the Worker. */
export function parseWithS3(vars: Readonly<Record<string, string>>, given: S3Secrets): Config {
  const known = vars["R2_S3_ENDPOINT"] ? Object.fromEntries(SECRETS.map((name) => [name, KNOWN_TO_WORKER])) : {};
  return parseConfig({ ...vars, ...known, ...given });
}

/** Refuses settings that cannot work, before anything is made. `known`: secrets that the Worker has. */
export async function checkS3(
  s3: S3Access | undefined,
  given: S3Secrets,
  known: ReadonlySet<string>,
  buckets: readonly string[],
): Promise<void> {
  const kept = SECRETS.filter((name) => known.has(name) && !(name in given));
  if (s3 === undefined) {
    if (kept.length === 0) return;
    const names = kept.join(" and ");
    throw new UserError(`The Worker has ${names}. Set R2_S3_ENDPOINT too, or: wrangler secret delete ${kept[0]}`);
  }
  const missing = SECRETS.filter((name) => !known.has(name) && !(name in given));
  if (missing.length > 0) throw new UserError(`R2_S3_ENDPOINT is set. Set ${missing.join(" and ")} too.`);
  if (!buckets.includes(s3.bucket)) throw new UserError(`R2_BUCKET must be the Worker's own: ${buckets.join(", ")}`);
  if (kept.length === 0 && (await takesUnsignedHeaders(s3)))
    throw new UserError("S3 takes headers that nobody signed: whoever has an upload link could read the whole bucket.");
}

/**
 * Tells whether a presigned link accepts unsigned S3 headers, as AWS does not but other servers did. With
 * `x-amz-copy-source`, the holder of an upload link could copy any object of the bucket to the link's key.
 */
export async function takesUnsignedHeaders(s3: S3Access): Promise<boolean> {
  const link = await createS3(s3, fetch).presignPut("incoming/probe", "text/plain", Date.now());
  const headers = { "content-type": "text/plain", "x-amz-copy-source": `/${s3.bucket}/incoming/nothing-is-here` };
  const answer = await fetch(link, { method: "PUT", headers });
  // This answer means that the server tried the copy, and only the source was missing.
  return (await answer.text()).includes("NoSuchKey");
}
