import type { Person } from "../../session/session.ts";

/** An owner of files, as a grid shows them: a client in a tenant, private or public. */
export interface Owner {
  readonly tenant: string;
  readonly client: string;
  readonly visibility: Visibility;
}

export type Visibility = "private" | "public";

/** The panel of an act on all files that match a search. */
export interface MatchingProps {
  readonly owner: Owner;
  readonly q: string;
  readonly close: () => void;
}

/** A person in an organization, in this browser. */
type Reader = Pick<Person, "user" | "organization">;

const lastOf = ({ user, organization }: Reader): string => `plinth-media-owner ${user} ${organization}`;

/** The owner that the person looked at last. The page opens with it, and the palette finds its files by name. */
export function lastOwner(person: Reader): Owner | undefined {
  try {
    const { tenant, client, visibility } = JSON.parse(localStorage.getItem(lastOf(person)) ?? "{}") as Partial<Owner>;
    return typeof tenant === "string" && typeof client === "string"
      ? { tenant, client, visibility: visibility === "public" ? "public" : "private" }
      : undefined;
  } catch {
    return undefined;
  }
}

export const rememberOwner = (person: Reader, owner: Owner): void =>
  localStorage.setItem(lastOf(person), JSON.stringify(owner));

/** The owner that an address names. */
export const ownerOf = (search: { tenant?: string; client?: string; visibility?: string }): Owner | undefined =>
  search.tenant === undefined || search.client === undefined
    ? undefined
    : {
        tenant: search.tenant,
        client: search.client,
        visibility: search.visibility === "public" ? "public" : "private",
      };

/** The search of an address that names the owner. */
export const searchOf = ({ tenant, client, visibility }: Owner): Record<string, string> => ({
  tenant,
  client,
  ...(visibility === "public" && { visibility }),
});

export const mediaHref = (owner: Owner): string => `/media?${new URLSearchParams(searchOf(owner))}`;

/** Tells whether variants can be made of a file. */
export const isMaster = (contentType: string): boolean => /^image\/(jpeg|png|gif)\b/i.test(contentType);

/** The size of the picture that the grid shows of an image. */
export const THUMBNAIL = "320x320";
