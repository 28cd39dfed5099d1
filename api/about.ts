import manifest from "../package.json" with { type: "json" };

/** Texts about the platform as a whole. */
export const ABOUT = {
  title: "Plinth",
  version: manifest.version,
  summary: "Authorization, events and media for services of many tenants, and the operator service.",
  license: { name: manifest.license, identifier: manifest.license },
  description: `Three services: OAuth 2.0 and OpenID Connect (\`/oauth2/v1\`), publish/subscribe (\`/pubsub/v1\`, and
\`/events/v1\`, deprecated) and media (\`/media/v2\`); with them an operator service (\`/admin/v1\`) and a gateway.

**Tokens.** Get one at \`/oauth2/v1/token\` and send it as \`Authorization: Bearer\`. Each operation says which scope it
needs. A token is for one tenant (\`plat.tenant=…\`), for an organization, or for none.

**Errors** are one JSON object everywhere (\`Error\`) but at the OAuth protocol's own endpoints (\`OAuthError\`) and at
pages. [The error reference](/docs/errors) says what to do about each type. A method that an address does not have
answers 405 with \`Allow\`.

**Every answer** carries \`plat-request-id\`: the operator finds by it what happened. \`GET\` operations answer \`HEAD\`
too, without a body, but those to which browsers are sent to change something: \`/authorize\`, \`/end_session\` and the
callback of an identity provider. An answer without a body has no \`Content-Type\`.

**Lists** come in pages (\`pageNumber\`, \`pageSize\`); \`Link\` has \`self\`, \`prev\` and \`next\`. Follow \`next\` to
neither skip nor repeat what is there while others write.

**Bodies.** Unknown JSON fields and unknown query parameters are ignored; a query parameter that is known and comes twice
is refused. JSON is nested at most 64 deep. Times are whole milliseconds since 1970 unless their words say seconds.

**Browsers.** Services answer any origin (CORS), without credentials; pages answer none.

**The gateway** answers every other path below the prefix: a service that an operator registered is reached at its
\`proxyPath\`, and its answers are its own. Addresses of the service in them are rewritten to the platform's; towards the
service go \`plat-tenant\`, \`plat-client\`, \`plat-client-authenticated\`, \`plat-user\`, \`plat-scopes\` and
\`plat-session-id\`. A service of another tenant than the caller's gets, in the place of the caller's token, one for itself
alone. Without a valid token the gateway answers 401 where the service asks for one, 403 where the tenant may not use
it, 503 where it does not answer, and 404 where there is none, as the error object.

The names here are those of a deployment whose platform is called \`plat\`; another one's document has its own.`,
} as const;

export const TAG_GROUPS = [
  { name: "Authorization", tags: ["Tokens", "Sign-in", "Account", "Users' grants"] },
  { name: "Publish/subscribe", tags: ["Topics", "Consuming", "Push subscriptions", "Events (deprecated)"] },
  { name: "Media", tags: ["Private files", "Public files", "Uploads and content", "Deletions"] },
  {
    name: "Operator",
    tags: ["Tenants", "Users and roles", "Clients", "Services and packages", "Revoking and explaining", "Upkeep"],
  },
  { name: "Platform", tags: ["Platform"] },
] as const;
