import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { deleteRole, getRole, putRole, type Role } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { CodeLines } from "../../components/lists/code-lines.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, textOf } from "../../components/forms/lines.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { Card, Page as Frame } from "../../components/page.tsx";
import { DeleteRecord } from "../../components/records/record-acts.tsx";
import { useOpenNew, useRefresh } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";

/** One role and its scopes. */
export function Page() {
  const { roles: words } = useWords();
  const { name } = useParams({ from: "/inside/roles/$name" });
  const { rights } = usePerson();
  const query = useQuery({ queryKey: ["roles", name], queryFn: () => answer(getRole(name, operations)) });
  return (
    <Frame title={name} parent={{ href: "/roles", title: words.title }}>
      <Fetched query={query}>
        {(role) => (
          <>
            <Card>{rights.write ? <RoleForm role={role} /> : <CodeLines lines={role.scopes} />}</Card>
            {rights.write && (
              <div className="buttons">
                <DeleteRecord kind="roles" id={name} remove={deleteRole} />
              </div>
            )}
          </>
        )}
      </Fetched>
    </Frame>
  );
}

/** Creates a role, or changes its scopes. */
export function RoleForm({ role }: { readonly role?: Role }) {
  const { roles: words, common } = useWords();
  const openNew = useOpenNew("roles");
  const refresh = useRefresh("roles");
  const [draft, field] = useDraft({ name: role?.name ?? "", scopes: textOf(role?.scopes) });
  const name = draft.name.trim();
  const write = useWrite(role);
  return (
    <ServiceForm
      act={role === undefined ? common.create : common.save}
      onSubmit={async () => {
        await write({
          key: "name",
          get: () => getRole(name, operations),
          typed: { scopes: linesOf(draft.scopes) },
          kept: ({ scopes }) => ({ scopes: [...scopes] }),
          put: (body, under) => answer(putRole(name, body, under)),
        });
        say.done(common.saved(name));
        await refresh();
        if (role === undefined) await openNew(name);
      }}
    >
      {role === undefined && <TextField {...field("name")} label={common.name} isRequired />}
      <TextField {...field("scopes")} label={words.scopes} help={words.scopesHelp} isMultiline />
    </ServiceForm>
  );
}
