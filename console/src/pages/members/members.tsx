import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  getOrganizationMember,
  getTenantMember,
  deleteOrganizationMember,
  deleteTenantMember,
  listOrganizationMembers,
  listTenantMembers,
  putOrganizationMember,
  putTenantMember,
} from "../../../../api/plinth.ts";
import { answer, gone, operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { Button, TextLink, SmallButton } from "../../components/button.tsx";
import { Panel } from "../../components/panel.tsx";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { linesOf, textOf } from "../../components/forms/lines.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { Rows } from "../../components/lists/rows.tsx";
import { Card } from "../../components/page.tsx";
import { recordHref } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { Badge } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";

interface Member {
  readonly email: string;
  readonly roles: readonly string[];
}

const OPERATIONS = {
  tenant: { list: listTenantMembers, get: getTenantMember, put: putTenantMember, remove: deleteTenantMember },
  organization: {
    list: listOrganizationMembers,
    get: getOrganizationMember,
    put: putOrganizationMember,
    remove: deleteOrganizationMember,
  },
} as const;

/** The members of a tenant or an organization, with their roles. */
export function Members({
  of,
  id,
  mayChange,
}: {
  readonly of: keyof typeof OPERATIONS;
  readonly id: string;
  readonly mayChange: boolean;
}) {
  const { members: words, common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const { list: ask, remove } = OPERATIONS[of];
  const key = ["members", of, id];
  const list = useList<Member>(key, (page, options) => ask(id, page, options));
  const [edited, edit] = useState<Member>();
  const refresh = () => queries.invalidateQueries({ queryKey: key });
  return (
    <Card
      title={words.title}
      actions={mayChange && <SmallButton onPress={() => edit({ email: "", roles: [] })}>{words.add}</SmallButton>}
    >
      <Rows list={list} empty={words.empty} idOf={({ email }) => email}>
        {(member) => (
          <>
            <div>
              {rights.read ? (
                <TextLink href={recordHref("people", member.email)}>{member.email}</TextLink>
              ) : (
                member.email
              )}
              <p className="badges">
                {member.roles.map((role) => (
                  <Badge key={role}>{role}</Badge>
                ))}
                {member.roles.length === 0 && <span className="muted">{words.none}</span>}
              </p>
            </div>
            {mayChange && (
              <div className="buttons">
                <Button aria-label={`${words.change}: ${member.email}`} onPress={() => edit(member)}>
                  {words.change}
                </Button>
                <ActButton
                  act={words.remove}
                  label={`${words.remove}: ${member.email}`}
                  title={common.deleteTitle(member.email)}
                  isDangerous
                  onConfirm={async () => {
                    await gone(remove(id, member.email, operations));
                    await refresh();
                  }}
                >
                  {words.removeText(member.email, id)}
                </ActButton>
              </div>
            )}
          </>
        )}
      </Rows>
      {edited !== undefined && (
        <Panel title={edited.email === "" ? words.add : words.change} isOpen close={() => edit(undefined)}>
          <MemberForm of={of} id={id} member={edited} close={() => edit(undefined)} done={refresh} />
        </Panel>
      )}
    </Card>
  );
}

interface MemberFormProps {
  readonly of: keyof typeof OPERATIONS;
  readonly id: string;
  readonly member: Member;
  readonly close: () => void;
  readonly done: () => Promise<unknown>;
}

function MemberForm({ of, id, member, close, done }: MemberFormProps) {
  const { members: words, common } = useWords();
  const [draft, field] = useDraft({ email: member.email, roles: textOf(member.roles) });
  const write = useWrite(member.email === "" ? undefined : member);
  const put: (...given: Parameters<typeof putTenantMember>) => Promise<{ status: number }> = OPERATIONS[of].put;
  const get: (...given: Parameters<typeof getTenantMember>) => Promise<{ status: number }> = OPERATIONS[of].get;
  return (
    <ServiceForm
      act={common.save}
      cancel={close}
      onSubmit={async () => {
        const email = draft.email.trim();
        await write({
          key: "email",
          get: () => get(id, email, operations),
          typed: { roles: linesOf(draft.roles) },
          kept: ({ roles }) => ({ roles: [...roles] }),
          put: (body, under) => answer(put(id, email, body, under)),
        });
        say.done(common.saved(email));
        close();
        await done();
      }}
    >
      <TextField
        {...field("email")}
        type="email"
        label={words.email}
        help={words.emailHelp}
        isRequired
        isDisabled={member.email !== ""}
      />
      <TextField {...field("roles")} label={words.roles} help={words.rolesHelp} isMultiline />
    </ServiceForm>
  );
}
