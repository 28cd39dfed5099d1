import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { FaultNotice } from "../app/faults.tsx";
import { Loading } from "./states.tsx";

/** What was asked for, or loading, or what went wrong. Old data stays while a new answer fails. */
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
