import { PlinthError } from "../../../packages/sdk/src/errors.ts";
import { QueryClient } from "@tanstack/react-query";

/** Queries are not retried here, since the SDK retries requests that may be repeated. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
});

/** The kind of a failure, by which the page chooses its text. */
export type Fault = "refused" | "missing" | "offline" | "busy" | "failed";

export function faultOf(error: unknown): Fault {
  if (!(error instanceof PlinthError)) return "failed";
  if (error.status === 403) return "refused";
  if (error.status === 404) return "missing";
  if (error.status === 0) return "offline";
  return error.status === 429 || error.status === 503 ? "busy" : "failed";
}
