import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { hashPassword } from "../../src/platform/password-hash.ts";
import { systemRandom } from "../../src/platform/random.ts";

const account = () => env.LOGIN_ATTEMPTS.get(env.LOGIN_ATTEMPTS.newUniqueId());
const hash = hashPassword("right", systemRandom);

describe("parallel attempts", () => {
  it("try 15 passwords of 40, and block", async () => {
    const one = account();
    const outcomes = await Promise.all(Array.from({ length: 40 }, async () => (await one.attempt(hash, "guess")).kind));
    expect(outcomes.filter((kind) => kind === "wrong")).toHaveLength(15);
    expect(outcomes.filter((kind) => kind === "blocked")).toHaveLength(25);
  });
});
