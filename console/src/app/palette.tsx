import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { AppWindow, Building2, Image, Landmark, Radio, ShieldCheck, UserRound, type LucideIcon } from "lucide-react";
import { useState, type RefObject } from "react";
import { Autocomplete, useFilter } from "react-aria-components";
import { Header, ListBox, ListBoxItem, ListBoxSection } from "react-aria-components";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";
import { Input, Label, SearchField } from "react-aria-components";
import {
  findFiles,
  getOperatedFile,
  getOrganization,
  listClients,
  listOperatedTopics,
  listTenants,
  listUsers,
} from "../../../api/plinth.ts";
import { answer, operations } from "../api/client.ts";
import { faultOf } from "../api/queries.ts";
import { usePerson } from "../session/session.ts";
import { useWords } from "../words/words.ts";
import { recordHref } from "../components/records/records.ts";
import { useSettled } from "../components/use-settled.ts";
import { findRoles } from "../pages/roles/role-search.ts";
import { beginningOf } from "../pages/topics/topic-name.ts";
import { PLACES } from "./navigation.ts";

/** A record that the search found: the address of its page, its name, and its id if that differs. */
interface Found {
  readonly href: string;
  readonly name: string;
  readonly id: string;
}

interface Kind {
  readonly key: "tenants" | "organizations" | "people" | "applications" | "roles" | "topics" | "files";
  readonly icon: LucideIcon;
  readonly operatorsOnly?: true;
  /** `tenant`: that of the open page, if it has one. It comes first if too many are found. */
  readonly find: (q: string, options: typeof operations, tenant: string | undefined) => Promise<readonly Found[]>;
}

/** The most records of each kind that are shown. A longer text finds the others. */
const pageSize = 5;
const ORGANIZATION_ID = /^[\w.-]{1,64}$/;
const FILE_ID = /^[0-9a-f]{24}$/;

const KINDS: readonly Kind[] = [
  {
    key: "tenants",
    icon: Building2,
    find: async (q, options) =>
      (await answer(listTenants({ q, pageSize }, options))).map(({ id, name }) => ({
        href: recordHref("tenants", id),
        name,
        id,
      })),
  },
  {
    key: "organizations",
    icon: Landmark,
    // The service cannot search them, so only a whole id finds one.
    find: async (q, options) => {
      if (!ORGANIZATION_ID.test(q)) return [];
      const { id, name } = await answer(getOrganization(q, options));
      return [{ href: recordHref("organizations", id), name, id }];
    },
  },
  {
    key: "applications",
    icon: AppWindow,
    find: async (q, options) =>
      (await answer(listClients({ q, pageSize }, options))).map(({ clientId, name, displayName }) => ({
        href: recordHref("applications", clientId),
        name: displayName || name,
        id: clientId,
      })),
  },
  {
    key: "people",
    icon: UserRound,
    operatorsOnly: true,
    find: async (q, options) =>
      (await answer(listUsers({ q, pageSize }, options))).map(({ email, name }) => ({
        href: recordHref("people", email),
        name,
        id: email,
      })),
  },
  {
    key: "roles",
    icon: ShieldCheck,
    operatorsOnly: true,
    find: async (q) => {
      const named = (await findRoles(q)).filter(({ name }) => name.toLowerCase().startsWith(q.toLowerCase()));
      return named.slice(0, pageSize).map(({ name }) => ({ href: recordHref("roles", name), name, id: name }));
    },
  },
  {
    key: "topics",
    icon: Radio,
    find: async (text, options) => {
      const q = beginningOf(text);
      if (q === undefined) return [];
      const found = await answer(listOperatedTopics({ q, pageSize }, options));
      return found.map(({ topicOwnerClient, eventType }) => ({
        href: `/topics/${topicOwnerClient}/${eventType}`,
        name: eventType,
        id: `${topicOwnerClient}.${eventType}`,
      }));
    },
  },
  { key: "files", icon: Image, find: filesNamed },
];

/** A file by its id, or by the beginning of its name. */
async function filesNamed(...[q, options, tenant]: Parameters<Kind["find"]>): Promise<readonly Found[]> {
  if (FILE_ID.test(q)) {
    const { id, fileName } = await answer(getOperatedFile(q, options));
    return [{ href: `/media/files/${id}`, name: fileName ?? id, id }];
  }
  const { files, more } = await answer(findFiles(q, {}, options));
  const near = more && tenant !== undefined ? (await answer(findFiles(q, { tenant }, options))).files : [];
  const found = [...new Map([...near, ...files].map((file) => [file.id, file])).values()];
  return found.slice(0, pageSize).map(({ id, name, client }) => ({
    href: `/media/files/${id}`,
    name,
    id: `${client} ${id}`,
  }));
}

interface PaletteProps {
  readonly close: () => void;
  /** What was typed while it was loaded. */
  readonly typed: RefObject<string>;
}

/** The palette (Ctrl-K): every page, and records whose id or name begins with the text. */
export default function Palette({ close, typed }: PaletteProps) {
  const { palette, navigation } = useWords();
  const { rights } = usePerson();
  const { contains } = useFilter({ sensitivity: "base" });
  const [text, setText] = useState(() => typed.current);
  const navigate = useNavigate();
  const tenant = useLocation({ select: ({ pathname, search }) => tenantOf(pathname, search) });
  const places = PLACES.filter(({ mayOpen }) => mayOpen(rights));
  const kinds = KINDS.filter(({ operatorsOnly }) => operatorsOnly !== true || rights.read);
  const asked = useSettled(text.trim());
  const search = useQuery({
    queryKey: ["palette", asked, tenant],
    enabled: asked !== "",
    // A search that nobody waits for any more is broken off.
    queryFn: async ({ signal }) =>
      Promise.all(
        kinds.map(async ({ key, icon, find }) => ({
          key,
          icon,
          found: await find(asked, { ...operations, signal }, tenant).catch(unlessNone),
        })),
      ),
  });
  const isSearching = text.trim() !== asked || (asked !== "" && search.isPending);
  const lacks = search.data?.some(({ found }) => found === undefined) === true;
  return (
    <ModalOverlay className="overlay high" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && close()}>
      <Modal className="palette">
        <Dialog aria-label={palette.title}>
          <Autocomplete inputValue={text} onInputChange={setText} filter={contains}>
            <SearchField autoFocus className="palette-field" maxLength={100}>
              <Label className="hidden">{palette.title}</Label>
              <Input placeholder={palette.placeholder} />
            </SearchField>
            <ListBox
              aria-label={palette.title}
              className="palette-list"
              renderEmptyState={() =>
                !lacks && <p className="muted">{isSearching ? palette.searching : palette.empty}</p>
              }
              onAction={(key) => {
                close();
                void navigate({ href: String(key) });
              }}
            >
              <ListBoxSection>
                <Header>{palette.pages}</Header>
                {places.map(({ to, label, icon: Icon }) => (
                  <ListBoxItem key={to} id={to} textValue={label(navigation)}>
                    <Icon aria-hidden />
                    {label(navigation)}
                  </ListBoxItem>
                ))}
              </ListBoxSection>
              {(search.data ?? [])
                .filter(({ found = [] }) => found.length > 0)
                .map(({ key, icon: Icon, found = [] }) => (
                  <ListBoxSection key={key} id={key}>
                    <Header>{navigation[key]}</Header>
                    {found.map(({ href, name, id }) => (
                      <ListBoxItem key={href} id={href} textValue={`${name} ${id} ${href}`}>
                        <Icon aria-hidden />
                        <span>
                          <bdi>{name}</bdi> {id !== name && <code className="muted">{id}</code>}
                        </span>
                      </ListBoxItem>
                    ))}
                  </ListBoxSection>
                ))}
            </ListBox>
          </Autocomplete>
          <p role="status" className="palette-lacks">
            {lacks && palette.lacks}
          </p>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** The tenant that an address of the console is about. */
const tenantOf = (pathname: string, search: { readonly tenant?: string }): string | undefined =>
  search.tenant ?? /\/tenants\/(?!new$)([^/]+)$/.exec(pathname)?.[1];

/** Nothing, if there is none or it is not this person's to see; undefined if that is unknown. */
const unlessNone = (thrown: unknown): readonly Found[] | undefined =>
  ["missing", "refused"].includes(faultOf(thrown)) ? [] : undefined;
