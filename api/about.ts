import manifest from "../package.json" with { type: "json" };

/** Texts about the platform as a whole. */
export const ABOUT = {
  title: "Plinth",
  version: manifest.version,
  summary: "Authorization, events and media for services of many tenants, and the operator service.",
  license: { name: manifest.license, identifier: manifest.license },
  description: `For example, get a token and list your topics:

\`\`\`sh
curl -u "demo.shop:$DEMO_CLIENT_SECRET" -d grant_type=client_credentials http://127.0.0.1:8787/oauth2/v1/token
curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8787/pubsub/v1/topics
\`\`\`

There are three services: OAuth 2.0 and OpenID Connect (\`/oauth2/v1\`), publish/subscribe (\`/pubsub/v1\`) and media
(\`/media/v2\`). The operator service (\`/admin/v1\`) runs the platform. The gateway puts services of your own beside them.

**Tokens.** Get one at \`/oauth2/v1/token\` and send it as \`Authorization: Bearer\`. Each operation says which scope it
needs. A token is for one tenant (\`plat.tenant=…\`), for an organization, or for none.

**Errors.** An error is one JSON object, \`Error\`. Only the OAuth endpoints answer with the one of the OAuth standard,
\`OAuthError\`, and pages with a page. [The error reference](/docs/errors) says what to do about each type. A method that
an address does not have is 405, and \`Allow\` names those that it has.

**Every answer** has a \`plat-request-id\`. Give it to the operator, who finds by it what happened. An address with
\`GET\` also takes \`HEAD\`. The exceptions are \`/authorize\`, \`/end_session\` and the callback of an identity provider,
because they change something.

**Lists** come in pages (\`pageNumber\`, \`pageSize\`). \`Link\` has \`self\`, \`prev\` and \`next\`. Follow \`next\`: then you
skip nothing and see nothing twice, even if others write meanwhile.

**Bodies.** A JSON field or a query parameter that is not known is ignored. A known query parameter that comes twice is
refused. JSON may be nested 64 deep. Times are whole milliseconds since 1970, unless the description says seconds.

**Browsers.** Services answer any origin (CORS), without credentials. Pages do not.

**The gateway** answers every other path. A request below a service's \`proxyPath\` goes to that service, with
\`plat-tenant\`, \`plat-client\`, \`plat-client-authenticated\`, \`plat-user\`, \`plat-scopes\` and \`plat-session-id\`. The
service's answer comes back, with its private addresses replaced by public ones. The gateway itself answers 401 without a
valid token where the service needs one, 403 if the tenant may not use the service, 404 if there is none, and 503 if it
does not answer.

The scopes and headers here begin with \`plat\`, which is the deployment's \`PLATFORM\`. Another deployment's document has
its own.`,
} as const;

export const TAG_GROUPS = [
  { name: "Authorization", tags: ["Tokens", "Sign-in", "Account", "Users' grants"] },
  { name: "Publish/subscribe", tags: ["Topics", "Consuming", "Push subscriptions", "Events (deprecated)"] },
  { name: "Media", tags: ["Private files", "Public files", "Uploads and content", "Deletions"] },
  {
    name: "Operator",
    tags: [
      "Tenants",
      "Users and roles",
      "Clients",
      "Files of clients",
      "Services and packages",
      "Revoking and explaining",
      "Upkeep",
    ],
  },
  { name: "Platform", tags: ["Platform"] },
] as const;
