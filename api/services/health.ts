import type { ServiceEntries } from "../model/entry.ts";
import { obj, oneOf, ref, type Schema } from "../model/schema.ts";

const text: Schema = { type: "string" };

/** The state of the platform's parts, for the operator. */
export const health: ServiceEntries = {
  base: "/health",
  tags: [],
  parameters: {},
  schemas: {
    HealthCheck: {
      schema: obj({
        name: { ...text, description: "The part: `database`, `bucket`, `object TopicLog`, `sweeps`, …" },
        status: oneOf(["ok", "warn", "fail"], "Whether it works."),
        tookMs: { type: "integer", description: "How long the check took." },
        facts: { type: "object", additionalProperties: true, description: "Measured values, by the check." },
        next: { ...text, description: "What is wrong and what to do next; empty if nothing." },
      }),
      example: { name: "bucket", status: "ok", tookMs: 12, facts: { headMs: 12 }, next: "" },
    },
    DeepHealth: {
      schema: obj({
        status: oneOf(["ok", "warn", "fail"], "The worst of all checks."),
        checkedAt: { type: "integer", format: "int64", description: "Milliseconds since 1970." },
        checks: { type: "array", items: ref("HealthCheck") },
      }),
      example: {
        status: "warn",
        checkedAt: 1764000000000,
        checks: [
          { name: "bucket", status: "ok", tookMs: 12, facts: { headMs: 12 }, next: "" },
          {
            name: "outbox",
            status: "warn",
            tookMs: 4,
            facts: { rows: 3, oldestMs: 700000 },
            next: 'Events of subscriptions wait to be published: the log says why under "event not published".',
          },
        ],
      },
    },
  },
  entries: {
    "GET /deep": {
      id: "getDeepHealth",
      tag: "Platform",
      about: "Each check takes at most three seconds, and all run at the same time. A load balancer asks `/health`.",
      answers: {
        200: { text: "No check failed; some may warn.", json: ref("DeepHealth") },
        503: {
          text: "A check failed. As the error object: the database does not answer, so that no token can be checked.",
          json: { anyOf: [ref("DeepHealth"), ref("Error")] },
          example: {
            status: "fail",
            checkedAt: 1764000000000,
            checks: [
              {
                name: "bucket",
                status: "fail",
                tookMs: 3000,
                facts: { error: "no answer within 3000 ms" },
                next: "R2 does not answer: see Cloudflare's status page; uploads and downloads fail until it does.",
              },
            ],
          },
        },
      },
    },
  },
};
