import { PlinthError } from "../../../packages/sdk/src/errors.ts";
import { QueryClient } from "@tanstack/react-query";

/** The SDK repeats what may be repeated, so a query does not. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: true },
    mutations: { retry: false },
  },
});

/** What went wrong, for the choice of words. */
export type Fault = "refused" | "missing" | "offline" | "busy" | "failed";

export function faultOf(error: unknown): Fault {
  if (!(error instanceof PlinthError)) return "failed";
  if (error.status === 403) return "refused";
  if (error.status === 404) return "missing";
  if (error.status === 0) return "offline";
  return error.status === 429 || error.status === 503 ? "busy" : "failed";
}
