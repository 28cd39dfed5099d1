import { expect } from "vitest";
import { ORIGIN } from "./events-app.ts";

/** An error response with its body, checked for the common shape. */
export async function expectProblem(response: Response, status: number, type: string): Promise<ProblemView> {
  const text = await response.text();
  expect(`${response.status} ${text.slice(0, 300)}`).toMatch(new RegExp(`^${status} `));
  expect(response.headers.get("content-type")).toBe("application/json");
  const body = JSON.parse(text) as ProblemView;
  expect(body).toEqual({
    status,
    type,
    message: expect.any(String),
    moreInfo: `${ORIGIN}/docs/errors#${type}`,
    details: expect.any(Array),
  });
  for (const detail of body.details) {
    expect(Object.keys(detail).toSorted()).toEqual(["field", "message", "moreInfo", "type"]);
    expect(detail).toMatchObject({ moreInfo: `${ORIGIN}/docs/errors#details-${detail.type}` });
  }
  return body;
}

export interface ProblemView {
  readonly message: string;
  readonly details: readonly { readonly type: string; readonly field: string; readonly message: string }[];
}

/** Type and field of each detail. */
export const faults = (body: ProblemView): string[] => body.details.map(({ type, field }) => `${type} ${field}`.trim());
