import { env } from "cloudflare:workers";
import { eventsApp } from "../events-app.ts";

interface PlayedCall {
  readonly object: string;
  readonly method: string;
  readonly given: readonly unknown[];
}

/** Objects that only record their calls. A method answers as the test says. */
export function playedObjects(answers: Record<string, (object: string, ...given: any[]) => unknown> = {}) {
  const calls: PlayedCall[] = [];
  const all: typeof answers = {
    open: () => ({ kind: "open" }),
    wake: () => "awake",
    changed: () => undefined,
    destroy: () => undefined,
    status: () => ({ lag: 1, deadLetters: 2, eventsLost: 3 }),
    ...answers,
  };
  const getByName = (object: string) =>
    new Proxy(
      {},
      {
        get:
          (_, method: string) =>
          async (...given: unknown[]) => {
            calls.push({ object, method, given });
            return all[method]!(object, ...given);
          },
      },
    );
  return {
    calls,
    /** The objects whose method was called, each as often as it was. */
    asked: (method: string) => calls.filter((call) => call.method === method).map(({ object }) => object),
    binding: { getByName } as unknown as typeof env.PUSH_SUBSCRIPTION,
  };
}

export function playedApp(objects: ReturnType<typeof playedObjects> = playedObjects(), bindings: Partial<Env> = {}) {
  return eventsApp({ ...env, PUSH_SUBSCRIPTION: objects.binding, ...bindings });
}

type Env = typeof env;
