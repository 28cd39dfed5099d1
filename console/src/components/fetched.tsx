import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FaultNotice } from "../app/faults.tsx";
import { Loading } from "./states.tsx";

/** Shows the result of a query, a loading state or an error. Old data stays if a later request fails. */
export function Fetched<T>({
  query,
  children,
}: {
  readonly query: UseQueryResult<T>;
  readonly children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.isError) return <FaultNotice error={query.error} retry={() => void query.refetch()} />;
  return <Loading />;
}
