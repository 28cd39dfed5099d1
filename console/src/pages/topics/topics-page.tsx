import { useNavigate, useSearch } from "@tanstack/react-router";
import { listOperatedTopics, type OperatedTopic } from "../../../../api/plinth.ts";
import { useList } from "../../api/lists.ts";
import { TextLink } from "../../components/button.tsx";
import { Bold, DataTable } from "../../components/lists/data-table.tsx";
import { NothingFound } from "../../components/lists/search-box.tsx";
import { TextField } from "../../components/forms/form.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { Badge, Empty } from "../../components/states.tsx";
import { useSearchText } from "../../components/use-settled.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { beginningOf } from "./topic-name.ts";

/** The topics that the person may see. The beginning of the name is in the address. */
export function Page() {
  const { topics: words } = useWords();
  const search = useSearch({ from: "/inside/topics" });
  const { tenant } = search;
  const navigate = useNavigate({ from: "/topics" });
  const asked = search.q;
  const [text, setText] = useSearchText(
    asked ?? "",
    (q) =>
      void navigate({ search: { ...(tenant !== undefined && { tenant }), ...(q !== "" && { q }) }, replace: true }),
  );
  const beginning = asked === undefined ? undefined : beginningOf(asked);
  return (
    <Frame title={words.title} lead={words.lead}>
      <div className="filters">
        <TextField
          name="q"
          label={words.filter}
          help={words.filterHelp}
          placeholder="demo."
          value={text}
          onChange={setText}
          isFilter
        />
      </div>
      {tenant !== undefined && (
        <p>
          {words.ofTenant(tenant)} <TextLink href="/topics">{words.all}</TextLink>
        </p>
      )}
      {asked === undefined || beginning !== undefined ? (
        <Topics q={beginning} tenant={tenant} asked={asked} />
      ) : (
        <NothingFound text={asked} />
      )}
    </Frame>
  );
}

interface TopicsProps {
  readonly q: string | undefined;
  readonly tenant: string | undefined;
  /** `q` as it was typed. */
  readonly asked: string | undefined;
}

function Topics({ q, tenant, asked }: TopicsProps) {
  const { topics: words, common } = useWords();
  const format = useFormats();
  const filters = { ...(q !== undefined && { q }), ...(tenant !== undefined && { tenant }) };
  const list = useList<OperatedTopic>(["topics", filters], (page, options) =>
    listOperatedTopics({ ...filters, ...page }, options),
  );
  return (
    <DataTable
      label={words.title}
      list={list}
      columns={[
        { id: "type", title: words.eventType, share: 2, cell: ({ eventType }) => <Bold>{eventType}</Bold> },
        { id: "owner", title: words.owner, share: 1.5, cell: ({ topicOwnerClient }) => topicOwnerClient },
        {
          id: "state",
          title: common.state,
          wideOnly: true,
          cell: ({ state }) =>
            state === "active" ? (
              <Badge kind="good">{common.active}</Badge>
            ) : (
              <Badge kind="warn">{words.deleting}</Badge>
            ),
        },
        { id: "created", title: common.created, wideOnly: true, cell: ({ createdAt }) => format.day(createdAt) },
      ]}
      idOf={({ topicOwnerClient, eventType }) => `${topicOwnerClient}/${eventType}`}
      hrefOf={({ topicOwnerClient, eventType }) => `/topics/${topicOwnerClient}/${eventType}`}
      empty={
        asked === undefined ? <Empty title={words.emptyTitle}>{words.emptyText}</Empty> : <NothingFound text={asked} />
      }
    />
  );
}
