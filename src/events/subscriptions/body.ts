import * as z from "zod/mini";
import { matching } from "../../http/validate.ts";
import { parseOutboundUrl } from "../../platform/outbound-url.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import type { PushRecord } from "../push/record.ts";

/** What stands for a password in answers; sent back by an update it leaves the password as it is (contract 3.5),
 * as long as the endpoint stays at its origin. */
export const PASSWORD_PLACEHOLDER = "********";

/** Specification, "Subscription". */
export const subscriptionName = matching(
  new RegExp(`^[A-Za-z0-9_-]{${SUBSCRIPTION.minNameChars},${SUBSCRIPTION.maxNameChars}}$`),
);

/** The bodies of creation and of update. `allowLoopback`: endpoints on hosts of this machine (contract 1.1). */
export function subscriptionBodies(allowLoopback: boolean) {
  const pushConfig = z.object({
    endpoint: z.string().check(z.maxLength(SUBSCRIPTION.maxEndpointChars, { abort: true }), ({ value, issues }) => {
      const address = parseOutboundUrl(value, allowLoopback);
      // The address itself stays out of the answer and of whatever logs it.
      if (!address.ok) issues.push({ code: "custom", message: address.error, input: undefined });
    }),
    handshake: z.optional(z.boolean()),
    basicAuth: z.object({
      username: matching(new RegExp(`^[A-Za-z0-9_.-]{1,${SUBSCRIPTION.maxUsernameChars}}$`)),
      password: z.string().check(
        z.maxLength(SUBSCRIPTION.maxPasswordChars),
        z.refine((text) => text.isWellFormed(), "must be well-formed Unicode"),
      ),
    }),
  });
  return {
    creation: z.object({ name: subscriptionName, pushConfig }),
    update: z.object({ name: z.optional(subscriptionName), pushConfig }),
  };
}

type Bodies = ReturnType<typeof subscriptionBodies>;
export type NewSubscription = z.infer<Bodies["creation"]>;
export type SubscriptionUpdate = z.infer<Bodies["update"]>;

/** A subscription as its client sees it. Times in milliseconds. */
export const subscriptionView = ({
  name,
  endpoint,
  username,
  state,
  verification,
  halt,
  createdAtMs,
  updatedAtMs,
}: PushRecord) => ({
  name,
  pushConfig: {
    endpoint,
    basicAuth: { username, password: PASSWORD_PLACEHOLDER },
    ...(verification === undefined ? {} : { handshake: true }),
  },
  state,
  halt: halt ?? null,
  createdAt: createdAtMs,
  updatedAt: updatedAtMs,
});
