import { useQueryClient } from "@tanstack/react-query";
import { Plug, Plus } from "lucide-react";
import { useState } from "react";
import { deleteIdentityProvider, listIdentityProviders, type IdentityProvider } from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { DeleteButton } from "../../components/forms/act-button.tsx";
import { Button, SmallButton } from "../../components/button.tsx";
import { CodeBlock } from "../../components/copy.tsx";
import { Panel } from "../../components/panel.tsx";
import { Card, Facts, Page as Frame } from "../../components/page.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { configNow } from "../../session/config.ts";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";
import { ProviderForm } from "./provider-form.tsx";
import { ProviderTest } from "./provider-test.tsx";

/** OpenID providers by which people sign in, each with a test. */
export function Page() {
  const { providers: words, common } = useWords();
  const { rights } = usePerson();
  const { issuer } = configNow();
  const queries = useQueryClient();
  const list = useList<IdentityProvider>(["providers"], listIdentityProviders);
  const [edited, edit] = useState<IdentityProvider | "new">();
  const [tested, test] = useState<string>();
  const refresh = () => queries.invalidateQueries({ queryKey: ["providers"] });
  const make = rights.write && (
    <Button className="primary" onPress={() => edit("new")}>
      <Plus aria-hidden /> {words.make}
    </Button>
  );
  return (
    <Frame title={words.title} lead={words.lead} actions={make}>
      {list.state === "loading" && <Loading />}
      {list.state === "failed" && <FaultNotice error={list.error} retry={list.retry} />}
      {list.state === "there" && list.rows.length === 0 && (
        <Empty title={words.emptyTitle} action={make}>
          {words.emptyText}
        </Empty>
      )}
      {list.rows.map((one) => (
        <Card
          key={one.id}
          title={one.id}
          actions={
            <div className="buttons">
              {rights.write && (
                <>
                  <SmallButton label={`${words.test}: ${one.id}`} onPress={() => test(one.id)}>
                    <Plug aria-hidden /> {words.test}
                  </SmallButton>
                  <SmallButton label={`${common.edit}: ${one.id}`} onPress={() => edit(one)}>
                    {common.edit}
                  </SmallButton>
                  <DeleteButton
                    isOfMany
                    name={one.id}
                    remove={() => deleteIdentityProvider(one.id, operations)}
                    after={refresh}
                  >
                    {words.deleteText}
                  </DeleteButton>
                </>
              )}
            </div>
          }
        >
          <Facts
            facts={[
              [words.issuer, one.issuer],
              [words.clientId, <code key="client">{one.clientId}</code>],
              [words.linking, words.linkings[one.linking]],
              [words.domains, one.domains.join(", ") || "–"],
              [words.tenants, one.tenants.join(", ") || "–"],
              [words.scopes, one.scopes.join(" ")],
            ]}
          />
          <CodeBlock label={words.callback} name={one.id} code={`${issuer}/callback/${one.id}`} />
        </Card>
      ))}
      {list.hasMore && (
        <Button onPress={list.loadMore} isPending={list.isLoadingMore}>
          {common.showMore}
        </Button>
      )}
      {tested !== undefined && <ProviderTest id={tested} close={() => test(undefined)} />}
      {edited !== undefined && (
        <Panel title={edited === "new" ? words.make : edited.id} isOpen close={() => edit(undefined)}>
          <ProviderForm {...(edited !== "new" && { provider: edited })} close={() => edit(undefined)} done={refresh} />
        </Panel>
      )}
    </Frame>
  );
}
