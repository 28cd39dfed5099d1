import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";

/**
 * Checks with two third-party validators: one against OpenAPI's own JSON Schema, one by rules beyond it, such as
 * examples against their schemas. Neither uses the network.
 */
export async function lint(text: string): Promise<string[]> {
  const { valid, errors } = await new Validator().validate(JSON.parse(text));
  const schema = valid ? [] : [`OpenAPI's schema: ${JSON.stringify(errors)}`];
  const config = await createConfig({
    extends: ["recommended-strict"],
    rules: {
      "no-invalid-media-type-examples": { severity: "error", allowAdditionalProperties: false },
      "no-invalid-parameter-examples": "error",
      "no-invalid-schema-examples": "error",
      "operation-description": "error",
      "parameter-description": "error",
      "tag-description": "error",
      "operation-singular-tag": "error",
      "no-unused-components": "error",
      // A public file answers with a redirect.
      "operation-2xx-response": "off",
    },
  });
  const problems = await lintFromString({ source: text, absoluteRef: "openapi.json", config });
  return [
    ...schema,
    ...problems.map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer ?? "?"}: ${message}`),
  ];
}
