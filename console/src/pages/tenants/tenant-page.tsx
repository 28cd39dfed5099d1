import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import {
  deleteSubscription,
  deleteTenant,
  getTenant,
  getTenantUsage,
  listSubscriptions,
  putSubscription,
  putTenant,
  revokeTenant,
  type Subscription,
  type Tenant,
} from "../../../../api/plinth.ts";
import { answer, gone, operations, whole } from "../../api/client.ts";
import { rewrite } from "../../api/rewrite.ts";
import { useList } from "../../api/lists.ts";
import { ActButton } from "../../components/forms/act-button.tsx";
import { BrandCard } from "../../components/brand-card.tsx";
import { LinkButton, TextLink, SmallButton } from "../../components/button.tsx";
import { Panel } from "../../components/panel.tsx";
import { Fetched } from "../../components/fetched.tsx";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { Rows } from "../../components/lists/rows.tsx";
import { Card, Facts } from "../../components/page.tsx";
import { DeleteRecord, DisableRecord, EndTokens } from "../../components/records/record-acts.tsx";
import { RecordPage } from "../../components/records/record-page.tsx";
import { recordHref, useRefresh } from "../../components/records/records.ts";
import { StateBadge } from "../../components/records/state-badge.tsx";
import { usePerson } from "../../session/session.ts";
import { useFormats } from "../../words/formats.ts";
import { useWords } from "../../words/words.ts";
import { Members } from "../members/members.tsx";
import { TenantForm } from "./tenant-form.tsx";

/** One tenant: its files and quota, its members, its subscriptions. */
export function Page() {
  const { tenants: words, common } = useWords();
  const { id } = useParams({ from: "/inside/tenants/$id" });
  const { rights } = usePerson();
  const refresh = useRefresh("tenants");
  const mayTend = rights.write || rights.tenantsOnly;
  return (
    <RecordPage<Tenant>
      kind="tenants"
      id={id}
      ask={getTenant}
      nameOf={({ name }) => name}
      links={rights.read && <LinkButton href={`/?tenant=${id}`}>{words.numbers}</LinkButton>}
      form={TenantForm}
    >
      {(one) => (
        <>
          <Card>
            <Facts
              facts={[
                [common.id, <code key="id">{one.id}</code>],
                [
                  words.organization,
                  <TextLink key="organization" href={recordHref("organizations", one.organization)}>
                    {one.organization}
                  </TextLink>,
                ],
                [words.plan, one.plan],
                [common.state, <StateBadge key="state" disabled={one.disabled} />],
              ]}
            />
          </Card>
          <div className="grid">
            <Usage id={id} />
            <Subscriptions id={id} />
          </div>
          <BrandCard
            brand={one.brand}
            mayChange={rights.write}
            change={async (next) => {
              await change(id, (now) => ({ brand: next(now.brand) }));
              await refresh();
            }}
          />
          <Members of="tenant" id={id} mayChange={mayTend} />
          {mayTend && <Acts tenant={one} />}
        </>
      )}
    </RecordPage>
  );
}

type Changed = Partial<Pick<Tenant, "brand" | "disabled">>;

/** Changes fields of a tenant. */
const change = (id: string, fields: (now: Tenant) => Changed) =>
  rewrite(
    () => whole(getTenant(id, operations)),
    (now, under) => answer(putTenant(id, { name: now.name, organization: now.organization, ...fields(now) }, under)),
  );

/** What an operator does with a whole tenant. Who runs its organization ends its tokens alone. */
function Acts({ tenant: { id, name, disabled } }: { readonly tenant: Tenant }) {
  const { rights } = usePerson();
  const write = (next: boolean) => change(id, () => ({ disabled: next }));
  return (
    <div className="buttons">
      <EndTokens kind="tenants" id={id} revoke={revokeTenant} />
      {rights.write && <DisableRecord kind="tenants" name={name} disabled={disabled} write={write} />}
      {rights.write && <DeleteRecord kind="tenants" id={id} name={name} remove={deleteTenant} />}
    </div>
  );
}

function Usage({ id }: { readonly id: string }) {
  const { tenants: words } = useWords();
  const format = useFormats();
  const usage = useQuery({ queryKey: ["usage", id], queryFn: () => answer(getTenantUsage(id, {}, operations)) });
  const row = (name: string, used: number, limit: number | undefined, text: (value: number) => string) => (
    <div className="usage" key={name}>
      <span>{name}</span>
      <span className="muted">{limit === undefined ? text(used) : words.of(text(used), text(limit))}</span>
      {limit !== undefined && (
        <meter aria-label={name} min={0} max={Math.max(1, limit)} high={Math.max(1, limit) * 0.9} value={used} />
      )}
    </div>
  );
  return (
    <Card title={words.usage}>
      <Fetched query={usage}>
        {({ files, bytes, quota }) => (
          <div className="usages">
            {row(words.files, files, quota.files, format.number)}
            {row(words.bytes, bytes, quota.bytes, format.bytes)}
          </div>
        )}
      </Fetched>
    </Card>
  );
}

function Subscriptions({ id }: { readonly id: string }) {
  const { tenants: words, common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const key = ["subscriptions", id];
  const list = useList<Subscription>(key, (page, options) => listSubscriptions(id, page, options));
  const [isAdding, add] = useState(false);
  const [name, setName] = useState("");
  const mayChange = rights.write || rights.tenantsOnly;
  return (
    <Card
      title={words.subscriptions}
      actions={mayChange && <SmallButton onPress={() => add(true)}>{words.subscribe}</SmallButton>}
    >
      <Rows list={list} empty={words.noSubscriptions} idOf={(one) => one.id}>
        {(one) => (
          <>
            <strong>{one.package}</strong>
            {mayChange && (
              <ActButton
                act={words.unsubscribe}
                label={`${words.unsubscribe}: ${one.package}`}
                title={common.deleteTitle(one.package)}
                isDangerous
                onConfirm={async () => {
                  await gone(deleteSubscription(id, one.package, operations));
                  await queries.invalidateQueries({ queryKey: key });
                }}
              >
                {words.unsubscribeText}
              </ActButton>
            )}
          </>
        )}
      </Rows>
      <Panel title={words.subscribe} isOpen={isAdding} close={() => add(false)}>
        <ServiceForm
          act={words.subscribe}
          cancel={() => add(false)}
          onSubmit={async () => {
            await answer(putSubscription(id, name.trim(), {}, operations));
            add(false);
            setName("");
            await queries.invalidateQueries({ queryKey: key });
          }}
        >
          <TextField name="packageId" label={words.package} value={name} onChange={setName} isRequired />
        </ServiceForm>
      </Panel>
    </Card>
  );
}
