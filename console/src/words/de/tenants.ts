import type { Same } from "../same.ts";
import type * as en from "../en/tenants.ts";

export const tenants: Same<typeof en.tenants> = {
  title: "Mandanten",
  lead: "Kunden, deren Daten getrennt bleiben. Anwendungen handeln in einem Mandanten, Personen sind Mitglieder.",
  make: "Neuer Mandant",
  emptyTitle: "Noch kein Mandant",
  emptyText: "Ein Mandant ist, wessen Daten getrennt bleiben: ein Laden, ein Kunde.",
  organization: "Organisation",
  plan: "Tarif",
};
