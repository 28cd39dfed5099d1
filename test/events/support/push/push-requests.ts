import { Webhook } from "standardwebhooks";
import type { OutsideRequest } from "../../../support/runtime/outside-world.ts";
import type { TestPush } from "./test-push.ts";

/** Ids of the events that the endpoint got, in the order of arrival. */
export const idsOf = (requests: readonly OutsideRequest[]): string[] =>
  requests.map(({ headers }) => headers["webhook-id"]!);

/** The event of a request whose signature is right. */
export function verified(push: TestPush, request: OutsideRequest): any {
  const signer = new Webhook(push.secret);
  return signer.verify(request.body, request.headers);
}
