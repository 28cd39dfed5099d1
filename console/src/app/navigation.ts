import {
  Activity,
  AppWindow,
  Boxes,
  Building2,
  FileClock,
  Fingerprint,
  HelpCircle,
  Images,
  KeyRound,
  Landmark,
  Radio,
  ShieldCheck,
  Users,
  type LucideIcon,
} from "lucide-react";
import type { Rights } from "../session/session.ts";
import type { useWords } from "../words/words.ts";

type Words = ReturnType<typeof useWords>["navigation"];
type Group = "watch" | "who" | "access" | "data";

/** A page of the navigation and of the palette. `mayOpen` hides what the person's scopes refuse anyway. */
export interface Place {
  readonly to: string;
  readonly label: (words: Words) => string;
  readonly group: Group;
  readonly icon: LucideIcon;
  readonly mayOpen: (rights: Rights) => boolean;
}

const operators = ({ read }: Rights): boolean => read;
const everybody = (): boolean => true;

export const PLACES: readonly Place[] = [
  { to: "/", label: (w) => w.overview, group: "watch", icon: Activity, mayOpen: operators },
  { to: "/audit", label: (w) => w.audit, group: "watch", icon: FileClock, mayOpen: operators },
  { to: "/tenants", label: (w) => w.tenants, group: "who", icon: Building2, mayOpen: everybody },
  { to: "/organizations", label: (w) => w.organizations, group: "who", icon: Landmark, mayOpen: everybody },
  { to: "/people", label: (w) => w.people, group: "who", icon: Users, mayOpen: operators },
  { to: "/applications", label: (w) => w.applications, group: "access", icon: AppWindow, mayOpen: everybody },
  { to: "/roles", label: (w) => w.roles, group: "access", icon: ShieldCheck, mayOpen: operators },
  { to: "/services", label: (w) => w.services, group: "access", icon: Boxes, mayOpen: operators },
  { to: "/providers", label: (w) => w.providers, group: "access", icon: Fingerprint, mayOpen: operators },
  { to: "/keys", label: (w) => w.keys, group: "access", icon: KeyRound, mayOpen: operators },
  { to: "/explain", label: (w) => w.explain, group: "access", icon: HelpCircle, mayOpen: operators },
  { to: "/topics", label: (w) => w.topics, group: "data", icon: Radio, mayOpen: everybody },
  { to: "/media", label: (w) => w.files, group: "data", icon: Images, mayOpen: everybody },
];

export const GROUPS: readonly Group[] = ["watch", "who", "access", "data"];
