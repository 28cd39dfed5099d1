import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { deleteOrganization, getOrganization } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { Button } from "../../components/button.tsx";
import { Panel } from "../../components/dialogs.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { Card, Facts, Page as Frame } from "../../components/page.tsx";
import { say } from "../../components/toasts/say.ts";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { Members } from "../members/members.tsx";
import { OrganizationForm } from "./organization-form.tsx";

export function Page() {
  const { organizations: words, common } = useWords();
  const { id } = useParams({ from: "/inside/organizations/$id" });
  const { rights } = usePerson();
  const format = useFormats();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isEditing, edit] = useState(false);
  const query = useQuery({ queryKey: ["organizations", id], queryFn: () => answer(getOrganization(id, operations)) });
  const refresh = () => queries.invalidateQueries({ queryKey: ["organizations"] });
  return (
    <Frame
      title={query.data?.name ?? id}
      parent={{ href: "/organizations", title: words.title }}
      actions={rights.write && query.data !== undefined && <Button onPress={() => edit(true)}>{common.edit}</Button>}
    >
      <Fetched query={query}>
        {(one) => (
          <>
            <Card>
              <Facts
                facts={[
                  [common.id, <code key="id">{one.id}</code>],
                  [common.created, format.moment(one.createdAt)],
                ]}
              />
            </Card>
            <Members of="organization" id={id} mayChange={rights.write || rights.tenantsOnly} />
            {rights.write && (
              <div className="buttons">
                <ActButton
                  act={common.remove}
                  title={common.deleteTitle(one.name)}
                  isDangerous
                  onConfirm={async () => {
                    await answer(deleteOrganization(id, operations));
                    say.done(common.deleted(one.name));
                    queries.removeQueries({ queryKey: ["organizations", id] });
                    await navigate({ to: "/organizations" });
                    await refresh();
                  }}
                >
                  {words.deleteText}
                </ActButton>
              </div>
            )}
            <Panel title={one.name} isOpen={isEditing} close={() => edit(false)}>
              <OrganizationForm
                organization={one}
                cancel={() => edit(false)}
                done={async () => {
                  edit(false);
                  await refresh();
                }}
              />
            </Panel>
          </>
        )}
      </Fetched>
    </Frame>
  );
}
