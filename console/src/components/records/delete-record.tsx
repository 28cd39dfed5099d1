import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { answer } from "../../api/client.ts";
import { DeleteButton } from "../forms/act-button.tsx";
import { useRefresh, type RecordKind } from "./records.ts";

interface DeleteRecordProps {
  readonly kind: RecordKind;
  readonly id: string;
  /** What a person calls the record. */
  readonly name: string;
  readonly remove: () => Parameters<typeof answer>[0];
  /** What goes with it. */
  readonly children: ReactNode;
}

/** The button that deletes the record of a page, and leads to the list. */
export function DeleteRecord({ kind, id, name, remove, children }: DeleteRecordProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refresh = useRefresh(kind);
  async function leave(): Promise<void> {
    queries.removeQueries({ queryKey: [kind, id] });
    await navigate({ href: `/${kind}` });
    await refresh();
  }
  return (
    <DeleteButton name={name} remove={remove} after={leave}>
      {children}
    </DeleteButton>
  );
}
