import { describe, expect, it } from "vitest";
import document from "../../api/openapi.json";
import type { Client } from "../../api/plinth.ts";
import { bodyOf } from "../../console/src/pages/applications/kinds.ts";
import { KEPT_FIELDS } from "../../src/admin/model/fields.ts";

describe("the body that writes an application back", () => {
  it("has each field that would get its default, and none that stays if it is left out", () => {
    const fields = Object.keys(document.components.schemas.Client.properties);
    const client = Object.fromEntries(fields.map((name) => [name, `the ${name}`])) as unknown as Client;
    const told = ["clientId", "createdAt"];
    const wanted = fields.filter((name) => !KEPT_FIELDS.includes(name) && !told.includes(name));
    expect(bodyOf(client)).toEqual(Object.fromEntries(wanted.map((name) => [name, `the ${name}`])));
  });
});
