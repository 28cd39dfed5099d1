import * as z from "zod/mini";
import { matching } from "../../http/input/validate.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import type { PushRecord } from "../push/record/record.ts";

/**
 * Replaces a password in responses. An update with this value keeps the password if the endpoint keeps its origin.
 */
export const PASSWORD_PLACEHOLDER = "********";

export const subscriptionName = matching(
  new RegExp(`^[A-Za-z0-9_-]{${SUBSCRIPTION.minNameChars},${SUBSCRIPTION.maxNameChars}}$`),
  `must be ${SUBSCRIPTION.minNameChars} to ${SUBSCRIPTION.maxNameChars} letters, digits, dashes and underscores`,
);

/** The bodies of creation and update. `allowLoopback` permits endpoints on this machine. */
export function subscriptionBodies(allowLoopback: boolean) {
  const pushConfig = z.object({
    endpoint: z.string().check(z.maxLength(SUBSCRIPTION.maxEndpointChars, { abort: true }), ({ value, issues }) => {
      const address = parseOutboundUrl(value, allowLoopback);
      // Keep the address itself out of responses and logs.
      if (!address.ok) issues.push({ code: "custom", message: address.error, input: undefined });
    }),
    handshake: z.optional(z.boolean()),
    basicAuth: z.object({
      username: matching(
        new RegExp(`^[A-Za-z0-9_.-]{1,${SUBSCRIPTION.maxUsernameChars}}$`),
        `must be 1 to ${SUBSCRIPTION.maxUsernameChars} letters, digits, dots, dashes and underscores`,
      ),
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
