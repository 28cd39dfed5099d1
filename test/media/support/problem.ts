import { expect } from "vitest";
import { expectJson } from "../../support/platform/call.ts";

/** Expects exactly this error object. */
export async function expectProblem(
  response: Response,
  status: number,
  type: string,
  details: readonly { type: string; field?: string }[] = [],
): Promise<any> {
  const problem = await expectJson(response, status);
  const docs = (entry: string) =>
    expect.stringMatching(new RegExp(`^https://[^/]+(/[\\w.~-]+)*/docs/errors#${entry}$`));
  expect(problem).toEqual({
    status,
    type,
    message: expect.stringMatching(/.+/),
    moreInfo: docs(type),
    details: details.map((detail) => ({
      field: "",
      ...detail,
      message: expect.stringMatching(/.+/),
      moreInfo: docs(`details-${detail.type}`),
    })),
  });
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
  return problem;
}
