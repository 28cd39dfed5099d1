import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Upload as UploadIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { DropZone, FileTrigger, type FileDropItem, type Selection } from "react-aria-components";
import { listOperatedFiles, type OperatedFile } from "../../../../../api/plinth.ts";
import { useList } from "../../../api/lists.ts";
import { FaultNotice } from "../../../app/faults.tsx";
import { Button, LinkButton } from "../../../components/button.tsx";
import { SelectField } from "../../../components/forms/form.tsx";
import { Page as Frame } from "../../../components/page.tsx";
import { Empty, Loading } from "../../../components/states.tsx";
import { usePerson } from "../../../session/session.ts";
import { useFormats } from "../../../words/formats.ts";
import { BulkVariants } from "../jobs/bulk-variants.tsx";
import { DeleteMatching, DeleteSelected } from "../erasures/delete-files.tsx";
import { FileGrid } from "./file-grid.tsx";
import { lastOwner, ownerOf, rememberOwner, searchOf, type Owner } from "../owner.ts";
import { OwnerChooser } from "./owner-chooser.tsx";
import { QueryBox } from "./query-box.tsx";
import { upload } from "../uploads/uploads.ts";
import { UploadTray } from "../uploads/upload-tray.tsx";
import { useMediaWords } from "../words.ts";

/** How long a list counts as fresh. Links to pictures of private files expire after 15 minutes. */
const FRESH_MS = 5 * 60_000;

/** True if the person may change files: an operator of the platform or of an organization. */
export const useMayChange = (): boolean => {
  const { rights } = usePerson();
  return rights.write || rights.tenantsOnly;
};

/** Files of a client. The address contains the owner, the search and the order. */
export function Page() {
  const words = useMediaWords();
  const search = useSearch({ from: "/inside/media" });
  const navigate = useNavigate({ from: "/media" });
  const owner = ownerOf(search);
  const person = usePerson();
  useEffect(() => {
    const last = search.tenant === undefined ? lastOwner(person) : undefined;
    if (last !== undefined) void navigate({ search: searchOf(last), replace: true });
  }, [search.tenant, person, navigate]);
  const below = owner === undefined ? "" : `?${new URLSearchParams(searchOf(owner))}`;
  return (
    <Frame
      title={words.title}
      lead={words.lead}
      actions={
        <>
          <LinkButton href={`/media/erasures${below}`}>{words.erasures}</LinkButton>
          <LinkButton href={`/media/work${below}`}>{words.work}</LinkButton>
        </>
      }
    >
      <OwnerChooser />
      {owner === undefined ? (
        <>
          <UploadTray />
          <Empty title={words.chooseTitle}>{words.chooseText}</Empty>
        </>
      ) : (
        <Files key={JSON.stringify(owner)} owner={owner} />
      )}
    </Frame>
  );
}

function Files({ owner }: { readonly owner: Owner }) {
  const words = useMediaWords();
  const format = useFormats();
  const { q = "", sort } = useSearch({ from: "/inside/media" });
  const navigate = useNavigate({ from: "/media" });
  const queries = useQueryClient();
  const mayChange = useMayChange();
  const [selected, select] = useState<Selection>(new Set());
  const [panel, setPanel] = useState<"delete" | "variants">();
  const person = usePerson();
  useEffect(() => rememberOwner(person, owner), [person, owner]);
  const { tenant, client, visibility } = owner;
  const asked = { ...(q !== "" && { q }), ...(sort !== undefined && { sort }) };
  const list = useList<OperatedFile>(
    ["files", owner, asked],
    (page, options) => listOperatedFiles(tenant, client, visibility, { ...asked, ...page }, options),
    { staleMs: FRESH_MS, keepRows: false },
  );
  const ids = selected === "all" ? list.rows.map(({ id }) => id) : [...selected].map(String);
  const show = (next: { q?: string; sort?: string | undefined }) => {
    select(new Set());
    const chosen = { q, sort, ...next };
    void navigate({
      search: {
        ...searchOf(owner),
        ...(chosen.q !== "" && { q: chosen.q }),
        ...(chosen.sort !== undefined && { sort: chosen.sort }),
      },
    });
  };
  const add = (files: readonly File[]) => files.length > 0 && upload(files, owner);
  return (
    <>
      <QueryBox
        q={q}
        search={(text) => {
          if (text === q) void queries.invalidateQueries({ queryKey: ["files", owner] });
          else show({ q: text });
        }}
      />
      <div className="media-bar">
        {mayChange && (
          <FileTrigger allowsMultiple onSelect={(files) => add([...(files ?? [])])}>
            <Button className="primary">
              <UploadIcon aria-hidden />
              {words.upload}
            </Button>
          </FileTrigger>
        )}
        <SelectField
          name="sort"
          label={words.order}
          value={sort ?? "id"}
          onChange={(order) => show({ sort: order === "id" ? undefined : order })}
          options={[
            { id: "id", name: words.orders.id },
            { id: "name:asc", name: words.orders.name },
            { id: "name:desc", name: words.orders.nameDown },
          ]}
        />
        {mayChange && list.rows.length > 0 && (
          <div className="buttons">
            <Button onPress={() => setPanel("variants")}>{words.makeVariants}</Button>
            <Button onPress={() => setPanel("delete")}>{q === "" ? words.deleteAll : words.deleteMatching}</Button>
          </div>
        )}
      </div>
      <UploadTray />
      {ids.length > 0 && (
        <div className="selection" role="status">
          <strong>{words.selected(format.number(ids.length))}</strong>
          <Button onPress={() => select(new Set())}>{words.clearSelection}</Button>
          {mayChange && <DeleteSelected ids={ids} after={() => select(new Set())} />}
        </div>
      )}
      <DropZone
        className="drop"
        isDisabled={!mayChange}
        aria-label={words.drop}
        getDropOperation={(types) => (mayChange && types !== undefined ? "copy" : "cancel")}
        onDrop={({ items }) =>
          void Promise.all(
            items.filter((item): item is FileDropItem => item.kind === "file").map((item) => item.getFile()),
          ).then(add)
        }
      >
        <p className="drop-words" aria-hidden>
          {words.drop}
        </p>
        {list.state === "loading" && <Loading rows={5} />}
        {list.state === "failed" && <FaultNotice error={list.error} retry={list.retry} />}
        {list.state === "there" &&
          (list.rows.length > 0 ? (
            <FileGrid list={list} selected={selected} select={select} />
          ) : q === "" ? (
            <Empty title={words.emptyTitle}>{words.emptyText}</Empty>
          ) : (
            <Empty title={words.nothingTitle}>{words.nothingText}</Empty>
          ))}
      </DropZone>
      {panel === "delete" && <DeleteMatching owner={owner} q={q} close={() => setPanel(undefined)} />}
      {panel === "variants" && <BulkVariants owner={owner} q={q} close={() => setPanel(undefined)} />}
    </>
  );
}
