// oxlint-disable-next-line import/no-unassigned-import -- must run before the service's code, which needs it
import "./base64.ts";
import * as z from "zod/mini";
import { builtInFault, type Fault, type RuleContext } from "../../src/admin/model/rules.ts";
import * as clients from "../../src/admin/resources/software/client-body.ts";
import * as identityProviders from "../../src/admin/resources/software/identity-providers.ts";
import * as members from "../../src/admin/resources/people/members.ts";
import * as organizations from "../../src/admin/resources/people/organizations.ts";
import * as packages from "../../src/admin/resources/software/packages.ts";
import * as roles from "../../src/admin/resources/people/roles.ts";
import * as services from "../../src/admin/resources/software/services.ts";
import * as subscriptions from "../../src/admin/resources/people/subscriptions.ts";
import * as tenants from "../../src/admin/resources/people/tenants.ts";
import * as linkedIdentities from "../../src/admin/resources/people/user-identities.ts";
import * as users from "../../src/admin/resources/people/users.ts";
import { jsonBody } from "../../src/http/route.ts";
import { validate, type Schema } from "../../src/http/input/validate.ts";
import { createBuiltIn } from "../../src/platform/model/built-in.ts";
import { createNames } from "../../src/platform/model/names.ts";
import { KIND, type KindName } from "./kinds.ts";

/**
 * The operator service's own rules, not a copy: its schemas, and its checks that need no database. The service itself
 * checks the rest: references and unique values.
 */
interface ResourceRules {
  readonly params: z.ZodMiniObject<Readonly<Record<string, z.ZodMiniType<string>>>>;
  readonly schema: z.ZodMiniObject;
  check?(id: string | undefined, body: object, context: RuleContext): Fault[];
  isBuiltIn?(id: string, context: RuleContext): boolean;
}

const RULES: Readonly<Record<KindName, ResourceRules>> = {
  organizations,
  tenants,
  services,
  packages,
  subscriptions,
  roles,
  users,
  organizationMembers: { params: members.paramsOf("organization"), schema: members.schema },
  tenantMembers: { params: members.paramsOf("tenant"), schema: members.schema },
  clients,
  identityProviders,
  linkedIdentities,
};

export type Rules = ReturnType<typeof createRules>;

/** The fields of an object; undefined for everything else. */
export type Shape = { readonly [field: string]: Shape | undefined };

/** `origin`: the platform's own, at which the command line sends requests. */
export function createRules(platform: string, allowLoopback: boolean, origin: string) {
  const names = createNames(platform);
  const context: RuleContext = { names, builtIn: createBuiltIn(names), allowLoopback, origin };
  const isBuiltIn = (kind: KindName, id: string): boolean => RULES[kind].isBuiltIn?.(id, context) === true;
  /** The id's own schema: the last parameter of the path. */
  const readId = (kind: KindName, text: string) => {
    const [name = "", schema] = Object.entries(RULES[kind].params.shape).at(-1) ?? [];
    const read = validate("path", z.object({ [name]: schema ?? z.string() }), { [name]: text });
    return read.ok ? ({ ok: true, value: read.value[name] ?? text } as const) : read;
  };

  return {
    /** True for the platform's own records. */
    isBuiltIn,
    /** Field names of the body, and of objects in it. */
    shape: (kind: KindName): Shape => shapeOf(RULES[kind].schema) ?? {},
    /** Tells whether a text has the form of an id. */
    isId: (kind: KindName, text: string): boolean => readId(kind, text).ok,
    /** The id in the platform's spelling, or the reason why the text is no id. */
    id(kind: KindName, text: string): { readonly ok: true; readonly id: string } | { ok: false; reason: string } {
      const read = readId(kind, text);
      if (!read.ok) return { ok: false, reason: read.error.message };
      if (!isBuiltIn(kind, read.value)) return { ok: true, id: read.value };
      return { ok: false, reason: builtInFault(KIND[kind].noun, read.value).message };
    },
    /** The body with its defaults, and every fault in it. Rules that need the id are skipped if it is undefined. */
    body(kind: KindName, id: string | undefined, body: object): { fields?: Record<string, unknown>; faults: Fault[] } {
      const { schema, check } = RULES[kind];
      const read = validate("body", schema, body);
      if (read.ok) {
        const faults = [...(check?.(id, read.value, context) ?? []), ...tooLarge(schema, read.value)];
        return { fields: read.value, faults };
      }
      const faults = read.error.details.map(({ type, field = "", message = "" }) => ({ type, field, message }));
      // The fields that the schema accepts may break other rules.
      const wrong = new Set(faults.map(({ field }) => topOf(field)));
      const rest = Object.fromEntries(Object.entries(body).filter(([field]) => !wrong.has(field)));
      const again = validate("body", z.partial(schema), rest);
      // The name of a client is its id by default, but not if it has a wrong one.
      const knownId = wrong.has("name") ? undefined : id;
      return { faults: again.ok ? [...faults, ...(check?.(knownId, again.value, context) ?? [])] : faults };
    },
  };
}

/** Fields within their limits may be more than a request takes together. */
function tooLarge(schema: Schema, body: object): Fault[] {
  const { maxBytes } = jsonBody(schema);
  if (Buffer.byteLength(JSON.stringify(body)) <= maxBytes) return [];
  const message = `this is more than one request takes, ${maxBytes} bytes as JSON.`;
  return [{ type: "invalid_field", field: "", message }];
}

/** `scopes[2]` → `scopes` */
const topOf = (field: string): string => field.split(/[.[]/)[0] ?? "";

interface Definition {
  readonly innerType?: Schema;
  readonly in?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
}

function shapeOf(schema: Schema): Shape | undefined {
  const definition = schema._zod.def as Definition;
  const inner = definition.innerType ?? definition.in;
  if (inner !== undefined) return shapeOf(inner);
  if (definition.shape === undefined) return undefined;
  return Object.fromEntries(Object.entries(definition.shape).map(([name, field]) => [name, shapeOf(field)]));
}
