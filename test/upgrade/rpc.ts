import type { DurableObject } from "cloudflare:workers";
import type { TopicConsumer } from "../../src/events/consume/topic-consumer.do.ts";
import type { TopicLog } from "../../src/events/log/topic-log.do.ts";
import type { PushSubscriptionObject } from "../../src/events/push/push-subscription.do.ts";
import type { MediaJob } from "../../src/media/model/job.ts";
import type { GuessCounter } from "../../src/oauth/sign-in/guess-counter.do.ts";
import type { LoginAttempts } from "../../src/oauth/sign-in/login-attempts.do.ts";
import type { TopicConsumer as ReleasedConsumer } from "./released/types/events/consume/topic-consumer.do.ts";
import type { TopicLog as ReleasedLog } from "./released/types/events/log/topic-log.do.ts";
import type { PushSubscriptionObject as ReleasedPush } from "./released/types/events/push/push-subscription.do.ts";
import type { MediaJob as ReleasedJob } from "./released/types/media/model/job.ts";
import type { GuessCounter as ReleasedGuesses } from "./released/types/oauth/sign-in/guess-counter.do.ts";
import type { LoginAttempts as ReleasedAttempts } from "./released/types/oauth/sign-in/login-attempts.do.ts";

/**
 * Objects run old code for a while after a deployment, and new code for a while after a rollback. So today's Worker
 * calls released objects and the released Worker today's. The compiler holds both: a method may gain an optional last
 * parameter, a record an optional field, and an object a method. Nothing may go, become required or change its type.
 */
type Offered<T> = { readonly [K in Method<T>]: Call<T[K]> };
/** The same under another name: TypeScript compares two uses of one name by its parameters alone, and too kindly. */
type Called<T, K extends PropertyKey = Method<T>> = { readonly [N in K & Method<T>]: Call<T[N]> };
type Method<T> = {
  [K in keyof T]: K extends keyof DurableObject ? never : T[K] extends (...args: any) => unknown ? K : never;
}[keyof T];
type Call<F> = F extends (...args: infer A) => infer R ? (...args: A) => Awaited<R> : never;

/** Today's object before the released Worker, and the released object before today's Worker. */
type Both<Today, Released> = readonly [Offered<Today>, Offered<Released>];
type Seen<Today, Released> = readonly [Called<Released>, Called<Today, Method<Released>>];

export const logs = (both: Both<TopicLog, ReleasedLog>): Seen<TopicLog, ReleasedLog> => both;
export const consumers = (both: Both<TopicConsumer, ReleasedConsumer>): Seen<TopicConsumer, ReleasedConsumer> => both;
export const push = (both: Both<PushSubscriptionObject, ReleasedPush>): Seen<PushSubscriptionObject, ReleasedPush> =>
  both;
export const guesses = (both: Both<GuessCounter, ReleasedGuesses>): Seen<GuessCounter, ReleasedGuesses> => both;
export const attempts = (both: Both<LoginAttempts, ReleasedAttempts>): Seen<LoginAttempts, ReleasedAttempts> => both;

/** Messages of the queue are read by either version, whichever wrote them. */
export const jobs = (both: readonly [MediaJob, ReleasedJob]): readonly [ReleasedJob, MediaJob] => both;

/** The rule, on a method that has every kind of part. */
interface Before {
  ask(name: string, about: { readonly size: number }): { readonly kind: "done" };
}
interface Grown {
  ask(
    name: string,
    about: { readonly size: number; readonly colour?: string },
    more?: string,
  ): { readonly kind: "done" };
  added(): void;
}
export const grown = (both: Both<Grown, Before>): Seen<Grown, Before> => both;
type Broken =
  | { ask(name: string, about: { readonly size: number }, more: string): { readonly kind: "done" } }
  | { ask(name: string, about: { readonly size: number; readonly colour: string }): { readonly kind: "done" } }
  | { ask(name: string, about: { readonly size: number }): { readonly kind: "done" | "late" } }
  | { ask(name: string, about: { readonly size: number }): { readonly kind: "done"; readonly at: number } }
  | { other(): void };
type Holds<Today> = Today extends unknown ? (Both<Today, Before> extends Seen<Today, Before> ? Today : never) : never;
export const broken = (none: Holds<Broken>): never => none;
