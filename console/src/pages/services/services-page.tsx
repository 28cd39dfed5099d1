import { useQueryClient } from "@tanstack/react-query";
import {
  deletePackage,
  deleteService,
  listPackages,
  listServices,
  type Package,
  type Service,
} from "../../../../api/plinth.ts";
import { operations } from "../../api/client.ts";
import { useList } from "../../api/lists.ts";
import { ListCard } from "../../components/lists/list-card.tsx";
import { Page as Frame } from "../../components/page.tsx";
import { Badge } from "../../components/states.tsx";
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
  const { services: words } = useWords();
  const queries = useQueryClient();
  const list = useList<Service>(["services", "list"], (page) => listServices(page, operations));
  const refresh = () => queries.invalidateQueries({ queryKey: ["services"] });
  return (
    <ListCard
      title={words.services}
      list={list}
      make={words.makeService}
      empty={words.emptyServices}
      nameOf={({ name }) => name}
      isBuiltIn={({ builtIn }) => builtIn === true}
      show={(one) => (
        <>
          <strong>{one.name}</strong> <code className="muted">{one.proxyPath}</code>{" "}
          {one.builtIn === true && <Badge>{words.builtIn}</Badge>}
          <Codes of={one.scopes} />
        </>
      )}
      form={(service, close) => (
        <ServiceRegistration {...(service !== undefined && { service })} close={close} done={refresh} />
      )}
      remove={({ name }) => deleteService(name, operations)}
      removeText={words.deleteText}
      refresh={refresh}
    />
  );
}

function Packages() {
  const { services: words } = useWords();
  const queries = useQueryClient();
  const list = useList<Package>(["packages"], (page) => listPackages(page, operations));
  const refresh = () => queries.invalidateQueries({ queryKey: ["packages"] });
  return (
    <ListCard
      title={words.packages}
      list={list}
      make={words.makePackage}
      empty={words.emptyPackages}
      nameOf={({ id }) => id}
      isBuiltIn={({ builtIn }) => builtIn === true}
      show={(one) => (
        <>
          <strong>{one.id}</strong> <span className="muted">{one.version}</span>{" "}
          {one.builtIn === true ? <Badge>{words.builtIn}</Badge> : <span className="muted">{one.organization}</span>}
          <Codes of={one.services} />
        </>
      )}
      form={(one, close) => <PackageForm {...(one !== undefined && { one })} close={close} done={refresh} />}
      remove={({ id }) => deletePackage(id, operations)}
      removeText={words.deleteText}
      refresh={refresh}
    />
  );
}

const Codes = ({ of }: { readonly of: readonly string[] }) => (
  <p className="badges">
    {of.map((one) => (
      <code key={one}>{one}</code>
    ))}
  </p>
);
