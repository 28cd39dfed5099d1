import { useQuery } from "@tanstack/react-query";
import { Check, CheckCheck } from "lucide-react";
import { listRoles, listServices, type Role, type Service } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { MakeLink, TextLink } from "../../components/button.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { Empty } from "../../components/states.tsx";
import { recordHref } from "../../components/records/records.ts";
import { configNow } from "../../session/config.ts";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";
import { holds, scopesOf } from "./matrix.ts";

/** Roles as columns, scopes as rows. */
export function Page() {
  const { roles: words } = useWords();
  const { rights } = usePerson();
  const roles = useQuery({
    queryKey: ["roles"],
    queryFn: () => answer(listRoles({ pageSize: 1000 }, operations)),
  });
  const services = useQuery({
    queryKey: ["services"],
    queryFn: () => answer(listServices({ pageSize: 1000 }, operations)),
  });
  const make = rights.write && <MakeLink href="/roles/new">{words.make}</MakeLink>;
  return (
    <Frame title={words.title} lead={words.lead} actions={make}>
      <Fetched query={roles}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={words.emptyTitle} action={make}>
              {words.emptyText}
            </Empty>
          ) : (
            <Matrix roles={all} services={services.data ?? []} />
          )
        }
      </Fetched>
    </Frame>
  );
}

function Matrix({ roles, services }: { readonly roles: readonly Role[]; readonly services: readonly Service[] }) {
  const { roles: words } = useWords();
  const { platform } = configNow();
  return (
    <div className="matrix" tabIndex={0} role="region" aria-label={words.matrix}>
      <table>
        <thead>
          <tr>
            <th scope="col">{words.scope}</th>
            {roles.map(({ name }) => (
              <th key={name} scope="col">
                <TextLink href={recordHref("roles", name)}>{name}</TextLink>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {scopesOf(roles, services).map((scope) => (
            <tr key={scope}>
              <th scope="row">
                <code>{scope}</code>
              </th>
              {roles.map((role) => {
                const how = holds(role, scope, platform);
                return (
                  <td key={role.name} className={how ?? ""}>
                    {how === "exact" && <Check aria-hidden size={18} />}
                    {how === "pattern" && <CheckCheck aria-hidden size={18} />}
                    <span className="hidden">
                      {how === undefined ? words.hasNot : how === "exact" ? words.has : words.covered}
                    </span>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
