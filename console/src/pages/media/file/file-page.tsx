import { useQuery, useQueryClient, useMutation } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { ExternalLink } from "lucide-react";
import {
  deleteOperatedFile,
  deleteOperatedVariants,
  getOperatedFile,
  type OperatedFileReport,
} from "../../../../../api/plinth.ts";
import { answer, operations, whole } from "../../../api/client.ts";
import { ActButton } from "../../../components/forms/act-button.tsx";
import { Button, TextLink } from "../../../components/button.tsx";
import { CopyButton } from "../../../components/copy.tsx";
import { Fetched } from "../../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../../components/page.tsx";
import { say } from "../../../components/toasts/say.ts";
import { Badge } from "../../../components/states.tsx";
import { recordHref } from "../../../components/records/records.ts";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import { reportHref } from "../erasures/delete-files.tsx";
import { nameOf, Picture } from "../files/file-grid.tsx";
import { MetadataCard } from "./metadata-card.tsx";
import { isMaster, mediaHref } from "../owner.ts";
import { useMayChange } from "../files/media-page.tsx";
import { VariantMaker } from "./variant-maker.tsx";
import { useMediaWords } from "../words.ts";

/** Asks again while variants are being made. */
const WHILE_PENDING_MS = 1_500;
/** How long an answer counts as fresh. Its links expire after 15 minutes. */
const LINKS_LAST_MS = 10 * 60_000;

/** The page of a file. Its address has only the file's id, not its owner, so it can be sent to a colleague. */
export function Page() {
  const words = useMediaWords();
  const { id } = useParams({ from: "/inside/media/files/$id" });
  const query = useQuery({
    queryKey: ["file", id],
    queryFn: () => answer(getOperatedFile(id, operations)),
    refetchInterval: ({ state }) =>
      state.data?.variants.some((one) => one.state === "pending") === true ? WHILE_PENDING_MS : LINKS_LAST_MS,
  });
  const file = query.data;
  return (
    <Frame
      title={file === undefined ? words.file : titleOf(file)}
      parent={{ href: file === undefined ? "/media" : mediaHref(file), title: words.title }}
      actions={file !== undefined && <Actions file={file} />}
    >
      <Fetched query={query}>{(found) => <Details file={found} />}</Fetched>
    </Frame>
  );
}

function Actions({ file }: { readonly file: OperatedFileReport }) {
  const words = useMediaWords();
  const mayChange = useMayChange();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <>
      <a className="button" href={file.link} target="_blank" rel="noreferrer">
        <ExternalLink aria-hidden />
        {words.open}
      </a>
      {mayChange && (
        <ActButton
          act={words.deleteFile}
          title={words.deleteFileTitle(titleOf(file))}
          isDangerous
          onConfirm={async () => {
            const { headers } = await whole(deleteOperatedFile(file.id, operations));
            void queries.invalidateQueries({ queryKey: ["files"] });
            void queries.invalidateQueries({ queryKey: ["file-owners"] });
            void navigate({ href: reportHref(headers) });
          }}
        >
          {words.deleteFileText}
        </ActButton>
      )}
    </>
  );
}

function Details({ file }: { readonly file: OperatedFileReport }) {
  const words = useMediaWords();
  const { common } = useWords();
  const format = useFormats();
  const mayChange = useMayChange();
  return (
    <>
      <div className="grid">
        <Card>
          {file.preview !== undefined && (
            <a href={file.link} target="_blank" rel="noreferrer">
              <img className="file-preview" src={file.preview} alt={words.pictureOf(titleOf(file))} />
            </a>
          )}
          <Facts
            facts={[
              [common.id, <code key="id">{file.id}</code>],
              [words.type, file["Content-Type"]],
              [words.bytes, format.bytes(file.size)],
              [words.owner, file.client],
              [
                words.tenant,
                <TextLink key="tenant" href={recordHref("tenants", file.tenant)}>
                  {file.tenant}
                </TextLink>,
              ],
              [words.visibility, words.visibilities[file.visibility]],
              [words.stored, format.moment(file.committedAt)],
              [words.etag, <code key="etag">{file.etag.replaceAll('"', "")}</code>],
            ]}
          />
          {file.visibility === "public" ? (
            <CopyButton text={file.link} label={words.copyAddress} />
          ) : (
            <p className="muted">{words.temporary}</p>
          )}
        </Card>
        <MetadataCard key={file.id} file={file} mayChange={mayChange} />
      </div>
      <VariantsCard file={file} mayChange={mayChange} />
      {mayChange && isMaster(file["Content-Type"]) && <VariantMaker file={file} />}
    </>
  );
}

const KIND = { pending: "plain", ready: "good", failed: "bad" } as const;

function VariantsCard({ file, mayChange }: { readonly file: OperatedFileReport; readonly mayChange: boolean }) {
  const words = useMediaWords();
  const format = useFormats();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: ({ type, size }: { type: "clip" | "crop"; size: string }) =>
      answer(deleteOperatedVariants(file.id, { [type]: size }, operations)),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["file", file.id] }),
    onError: (error) => say.failed(error.message),
  });
  return (
    <Card title={words.variants}>
      {!isMaster(file["Content-Type"]) && <p className="muted">{words.notImage}</p>}
      {isMaster(file["Content-Type"]) && file.variants.length === 0 && <p className="muted">{words.noVariants}</p>}
      <ul className="variants">
        {file.variants.map(({ type, size, width, height, bytes, state, reason, link }) => (
          <li key={`${type} ${size}`}>
            <Picture address={link} contentType="image/*" />
            <strong>
              {link === undefined ? (
                `${type} ${size}`
              ) : (
                <a className="link" href={link} target="_blank" rel="noreferrer">
                  {`${type} ${size}`}
                </a>
              )}
            </strong>
            {width !== null && height !== null ? (
              <span className="muted">
                {words.pixels(format.number(width), format.number(height))}, {format.bytes(bytes ?? 0)}
              </span>
            ) : (
              <Badge kind={KIND[state]}>{words.variantStates[state]}</Badge>
            )}
            {reason !== undefined && <span className="upload-reason">{reason}</span>}
            {mayChange && (
              <Button
                className="small"
                aria-label={words.removeVariant(`${type} ${size}`)}
                isPending={remove.isPending && remove.variables.type === type && remove.variables.size === size}
                onPress={() => remove.mutate({ type, size })}
              >
                <RemoveWord />
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

function RemoveWord() {
  const { common } = useWords();
  return <>{common.remove}</>;
}

const titleOf = (file: OperatedFileReport): string =>
  nameOf(file, JSON.parse(file.metadataText) as Readonly<Record<string, unknown>>);
