import {
  deletePackage,
  deleteService,
  listPackages,
  listServices,
  type Package,
  type Service,
} from "../../../../api/plinth.ts";
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
  const { services: title, makeService: make, emptyServices: empty, deleteText: remove } = words;
  return (
    <ListCard<Service>
      of="services"
      words={{ title, make, empty, remove }}
      ask={listServices}
      idOf={({ name }) => name}
      show={({ name, proxyPath, builtIn, scopes }) => (
        <>
          <strong>{name}</strong> <code className="muted">{proxyPath}</code>{" "}
          {builtIn === true && <Badge>{words.builtIn}</Badge>}
          <Codes of={scopes} />
        </>
      )}
      form={(service, close, done) => (
        <ServiceRegistration {...(service !== undefined && { service })} close={close} done={done} />
      )}
      remove={deleteService}
    />
  );
}

function Packages() {
  const { services: words } = useWords();
  const { packages: title, makePackage: make, emptyPackages: empty, deleteText: remove } = words;
  return (
    <ListCard<Package>
      of="packages"
      words={{ title, make, empty, remove }}
      ask={listPackages}
      idOf={({ id }) => id}
      show={({ id, version, builtIn, organization, services }) => (
        <>
          <strong>{id}</strong> <span className="muted">{version}</span>{" "}
          {builtIn === true ? <Badge>{words.builtIn}</Badge> : <span className="muted">{organization}</span>}
          <Codes of={services} />
        </>
      )}
      form={(one, close, done) => <PackageForm {...(one !== undefined && { one })} close={close} done={done} />}
      remove={deletePackage}
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
