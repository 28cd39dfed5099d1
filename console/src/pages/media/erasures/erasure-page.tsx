import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Printer } from "lucide-react";
import { useEffect, useState } from "react";
import { flushSync } from "react-dom";
import { getOperatedErasure, type OperatedErasure } from "../../../../../api/plinth.ts";
import { answer, operations } from "../../../api/client.ts";
import { Button } from "../../../components/button.tsx";
import { Fetched } from "../../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../../components/page.tsx";
import { Badge } from "../../../components/states.tsx";
import { PLATFORM_URL } from "../../../session/config.ts";
import { usePerson } from "../../../session/session.ts";
import { useFormats } from "../../../words/formats.ts";
import { useWords } from "../../../words/words.ts";
import { ERASURE_KIND } from "./erasures-page.tsx";
import { searchOf } from "../owner.ts";
import { Progress } from "../uploads/upload-tray.tsx";
import { useMediaWords } from "../words.ts";

/** Asks again while bytes are being deleted. */
const WHILE_DELETING_MS = 2_000;

/** The report of a deletion. It can be printed, without the navigation. */
export function Page() {
  const words = useMediaWords();
  const { id } = useParams({ from: "/inside/media/erasures/$id" });
  const query = useQuery({
    queryKey: ["erasure", id],
    queryFn: () => answer(getOperatedErasure(id, operations)),
    refetchInterval: ({ state }) => state.data?.state === "deleting" && WHILE_DELETING_MS,
  });
  const found = query.data;
  return (
    <Frame
      title={words.erasure}
      lead={found === undefined ? undefined : words.erasureLead(found.client, found.tenant)}
      parent={{
        href: found === undefined ? "/media/erasures" : `/media/erasures?${new URLSearchParams(searchOf(found))}`,
        title: words.erasures,
      }}
      actions={
        found !== undefined && (
          <Button onPress={() => window.print()}>
            <Printer aria-hidden />
            {words.print}
          </Button>
        )
      }
    >
      <Fetched query={query}>{(erasure) => <Report erasure={erasure} />}</Fetched>
    </Frame>
  );
}

/** Who printed the report, when and where. Only on paper. */
function Printed() {
  const words = useMediaWords();
  const format = useFormats();
  const { user } = usePerson();
  const [at, setAt] = useState(() => Date.now());
  useEffect(() => {
    const stamp = () => flushSync(() => setAt(Date.now()));
    addEventListener("beforeprint", stamp);
    return () => removeEventListener("beforeprint", stamp);
  }, []);
  return <p className="muted on-paper">{words.printed(format.moment(at), user, PLATFORM_URL)}</p>;
}

function Report({ erasure }: { readonly erasure: OperatedErasure }) {
  const words = useMediaWords();
  const { common } = useWords();
  const format = useFormats();
  const { files, bytes, state } = erasure;
  const when = (at: number | null) => (at === null ? words.notYet : format.moment(at));
  return (
    <>
      <Card>
        <Facts
          facts={[
            [
              common.state,
              <Badge key="state" kind={ERASURE_KIND[state]}>
                {words.erasureStates[state]}
              </Badge>,
            ],
            [common.id, <code key="id">{erasure.id}</code>],
            [words.what, words.erasureKinds[erasure.kind]],
            [words.client, erasure.client],
            [words.tenant, erasure.tenant],
            [words.visibility, words.visibilities[erasure.visibility]],
            [words.requestedAt, when(erasure.requestedAt)],
            [words.deletedAt, when(erasure.deletedAt)],
            [words.verifiedAt, when(erasure.verifiedAt)],
          ]}
        />
      </Card>
      <Card title={words.files}>
        {files.requested > 0 && state !== "verified" && (
          <Progress
            label={state === "deleting" ? words.erasureStates.deleting : words.erasureStates.deleted}
            share={files.deleted / files.requested}
          />
        )}
        <Facts
          facts={[
            [words.requested, `${format.number(files.requested)} (${format.bytes(bytes.requested)})`],
            [words.deleted, `${format.number(files.deleted)} (${format.bytes(bytes.deleted)})`],
            [words.verified, format.number(files.verified)],
            [words.late, format.number(erasure.lateObjects)],
          ]}
        />
        <p className="muted">{words.proof}</p>
        <Printed />
      </Card>
    </>
  );
}
