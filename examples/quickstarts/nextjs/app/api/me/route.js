import { withAuth } from "@plinth/sdk/middleware";

const url = process.env.PLINTH_URL ?? "http://127.0.0.1:8787";

export const GET = withAuth({ url }, (request, { user, client, tenant }) => Response.json({ user, client, tenant }));
