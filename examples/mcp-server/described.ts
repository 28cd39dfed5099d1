/** The registration of the example, as `PUT` takes it. */
export const NOTES = {
  service: "notes",
  proxyPath: "/notes/v1",
  role: "notes-keeper",
  scopes: ["notes.read", "notes.write"],
} as const;

export const notesService = (tenant: string, sourceUrl: string) => ({
  sourceUrl,
  proxyPath: NOTES.proxyPath,
  tenant,
  access: "token",
  scopes: NOTES.scopes,
  scopeDescriptions: { "notes.read": "read your notes", "notes.write": "change your notes" },
});
