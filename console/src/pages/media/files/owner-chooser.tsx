import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { Button, ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from "react-aria-components";
import { listClients, listFileOwners, listTenants } from "../../../../../api/plinth.ts";
import { answer, operations } from "../../../api/client.ts";
import { SelectField } from "../../../components/forms/form.tsx";
import { useSettled } from "../../../components/use-settled.ts";
import { useFormats } from "../../../words/formats.ts";
import type { Visibility } from "../owner.ts";
import { useMediaWords } from "../words.ts";

/** The owner of the shown files, as far as it is chosen. */
interface Choice {
  readonly tenant?: string | undefined;
  readonly client?: string | undefined;
  readonly visibility: Visibility;
}

/** The most entries of a long list that are offered. Typing finds the others. */
const OFFERED = 50;

interface OwnerChooserProps {
  /** Leaves out the choice between private and public files. */
  readonly isOfBoth?: boolean;
}

/**
 * Chooses a tenant, a client (of the tenant, or with files there), and private or public files. The address says which.
 */
export function OwnerChooser({ isOfBoth = false }: OwnerChooserProps) {
  const { tenant: chosenTenant, client: chosenClient, visibility: chosen } = useSearch({ strict: false });
  const navigate = useNavigate();
  const choice: Choice = {
    tenant: chosenTenant,
    client: chosenClient,
    visibility: chosen === "public" ? "public" : "private",
  };
  const choose = ({ tenant, client, visibility }: Choice) =>
    void navigate({
      to: ".",
      search: {
        ...(tenant !== undefined && { tenant }),
        ...(client !== undefined && { client }),
        ...(visibility === "public" && { visibility }),
      },
    });
  const words = useMediaWords();
  const clients = useClients(choice);
  return (
    <div className="filters media-owner">
      <TenantBox tenant={choice.tenant} choose={(tenant) => choose({ tenant, visibility: choice.visibility })} />
      {choice.tenant !== undefined && (
        <SelectField
          name="client"
          label={words.client}
          value={choice.client ?? ""}
          onChange={(client) => choose({ ...choice, client })}
          options={clients}
          isDisabled={clients.length === 0}
        />
      )}
      {choice.client !== undefined && !isOfBoth && (
        <SelectField
          name="visibility"
          label={words.visibility}
          value={choice.visibility}
          onChange={(visibility) => choose({ ...choice, visibility: visibility === "public" ? "public" : "private" })}
          options={[
            { id: "private", name: words.visibilities.private },
            { id: "public", name: words.visibilities.public },
          ]}
        />
      )}
    </div>
  );
}

function TenantBox({
  tenant,
  choose,
}: {
  readonly tenant: string | undefined;
  readonly choose: (tenant: string) => void;
}) {
  const words = useMediaWords();
  const [text, setText] = useState<string>();
  const q = useSettled(text === tenant ? "" : (text ?? "").trim());
  const found = useQuery({
    queryKey: ["tenants", "offered", q],
    queryFn: async ({ signal }) =>
      answer(listTenants({ pageSize: OFFERED, ...(q !== "" && { q }) }, { ...operations, signal })),
    placeholderData: (before) => before,
  });
  return (
    <ComboBox
      className="field combo"
      inputValue={text ?? tenant ?? ""}
      onInputChange={setText}
      value={tenant ?? null}
      onChange={(key) => {
        setText(undefined);
        if (key !== null) choose(String(key));
      }}
      onBlur={() => setText(undefined)}
      menuTrigger="focus"
      allowsEmptyCollection
      defaultFilter={() => true}
      items={found.data ?? []}
    >
      <Label>{words.tenant}</Label>
      <div className="combo-box">
        <Input autoComplete="off" />
        <Button className="button icon">
          <ChevronDown aria-hidden />
        </Button>
      </div>
      <Popover className="popover">
        <ListBox className="options">
          {(one: { readonly id: string; readonly name: string }) => (
            <ListBoxItem id={one.id} textValue={one.id}>
              {one.name} <code className="muted">{one.id}</code>
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}

/** The tenant's clients, with what each stores. The client of the address is always among them. */
function useClients({ tenant, client, visibility }: Choice): readonly { readonly id: string; readonly name: string }[] {
  const words = useMediaWords();
  const format = useFormats();
  const owners = useQuery({
    queryKey: ["file-owners", tenant],
    enabled: tenant !== undefined,
    queryFn: () => answer(listFileOwners(tenant!, operations)),
  });
  const clients = useQuery({
    queryKey: ["clients", "of", tenant],
    enabled: tenant !== undefined,
    queryFn: async () =>
      (await answer(listClients({ q: `${tenant}.`, pageSize: OFFERED * 2 }, operations))).filter(
        (one) => one.tenant === tenant,
      ),
  });
  const names = new Set([
    ...(client === undefined ? [] : [client]),
    ...(owners.data ?? []).map((one) => one.client),
    ...(clients.data ?? []).map((one) => one.name),
  ]);
  return [...names]
    .toSorted((a, b) => a.localeCompare(b))
    .map((name) => {
      const stored = owners.data?.find((one) => one.client === name && one.visibility === visibility);
      const size =
        stored === undefined || stored.files === 0
          ? ""
          : ` (${words.ownerSize(format.number(stored.files), format.bytes(stored.bytes))})`;
      return { id: name, name: `${name}${size}` };
    });
}
