import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import {
  deletePackage,
  deleteService,
  listPackages,
  listServices,
  type Package,
  type Service,
} from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { FaultNotice } from "../../app/faults.tsx";
import { ActButton } from "../../components/act-button.tsx";
import { Button } from "../../components/button.tsx";
import { Panel } from "../../components/dialogs.tsx";
import { Card, Page as Frame } from "../../components/page.tsx";
import { say } from "../../components/say.ts";
import { Badge, Loading } from "../../components/states.tsx";
import { usePerson } from "../../session/session.ts";
import { useWords } from "../../words/words.ts";
import { PackageForm, ServiceRegistration } from "./service-forms.tsx";

/** Services with their scopes, and the packages that hold them. */
export function Page() {
  const { services: words } = useWords();
  return (
    <Frame title={words.title} lead={words.lead}>
      <Services />
      <Packages />
    </Frame>
  );
}

function Services() {
  const { services: words, common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const list = useList<Service>(["services", "list"], (page) => listServices(page, operations));
  const [edited, edit] = useState<Service | "new">();
  const refresh = () => queries.invalidateQueries({ queryKey: ["services"] });
  return (
    <Card
      title={words.services}
      actions={
        rights.write && (
          <Button className="small" onPress={() => edit("new")}>
            {words.makeService}
          </Button>
        )
      }
    >
      {list.state === "loading" && <Loading />}
      {list.state === "failed" && <FaultNotice error={list.error} retry={list.retry} />}
      <ul className="rows">
        {list.rows.map((one) => (
          <li key={one.name}>
            <div>
              <strong>{one.name}</strong> <code className="muted">{one.proxyPath}</code>{" "}
              {one.builtIn === true && <Badge>{words.builtIn}</Badge>}
              <p className="badges">
                {one.scopes.map((scope) => (
                  <code key={scope}>{scope}</code>
                ))}
              </p>
            </div>
            {rights.write && one.builtIn !== true && (
              <div className="buttons">
                <Button onPress={() => edit(one)}>{common.edit}</Button>
                <ActButton
                  act={common.remove}
                  title={common.deleteTitle(one.name)}
                  isDangerous
                  onConfirm={async () => {
                    await answer(deleteService(one.name, operations));
                    say.done(common.deleted(one.name));
                    await refresh();
                  }}
                >
                  {words.deleteText}
                </ActButton>
              </div>
            )}
          </li>
        ))}
      </ul>
      {list.hasMore && <Button onPress={list.loadMore}>{common.loadingMore}</Button>}
      {edited !== undefined && (
        <Panel title={edited === "new" ? words.makeService : edited.name} isOpen close={() => edit(undefined)}>
          <ServiceRegistration
            {...(edited !== "new" && { service: edited })}
            close={() => edit(undefined)}
            done={refresh}
          />
        </Panel>
      )}
    </Card>
  );
}

function Packages() {
  const { services: words, common } = useWords();
  const { rights } = usePerson();
  const queries = useQueryClient();
  const list = useList<Package>(["packages"], (page) => listPackages(page, operations));
  const [edited, edit] = useState<Package | "new">();
  const refresh = () => queries.invalidateQueries({ queryKey: ["packages"] });
  return (
    <Card
      title={words.packages}
      actions={
        rights.write && (
          <Button className="small" onPress={() => edit("new")}>
            {words.makePackage}
          </Button>
        )
      }
    >
      {list.state === "loading" && <Loading />}
      {list.state === "failed" && <FaultNotice error={list.error} retry={list.retry} />}
      <ul className="rows">
        {list.rows.map((one) => (
          <li key={one.id}>
            <div>
              <strong>{one.id}</strong> <span className="muted">{one.version}</span>{" "}
              {one.builtIn === true ? (
                <Badge>{words.builtIn}</Badge>
              ) : (
                <span className="muted">{one.organization}</span>
              )}
              <p className="badges">
                {one.services.map((service) => (
                  <code key={service}>{service}</code>
                ))}
              </p>
            </div>
            {rights.write && one.builtIn !== true && (
              <div className="buttons">
                <Button onPress={() => edit(one)}>{common.edit}</Button>
                <ActButton
                  act={common.remove}
                  title={common.deleteTitle(one.id)}
                  isDangerous
                  onConfirm={async () => {
                    await answer(deletePackage(one.id, operations));
                    say.done(common.deleted(one.id));
                    await refresh();
                  }}
                >
                  {words.deleteText}
                </ActButton>
              </div>
            )}
          </li>
        ))}
      </ul>
      {list.hasMore && <Button onPress={list.loadMore}>{common.loadingMore}</Button>}
      {edited !== undefined && (
        <Panel title={edited === "new" ? words.makePackage : edited.id} isOpen close={() => edit(undefined)}>
          <PackageForm {...(edited !== "new" && { one: edited })} close={() => edit(undefined)} done={refresh} />
        </Panel>
      )}
    </Card>
  );
}
