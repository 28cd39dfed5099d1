import { createPlinth, NotFoundError } from "@plinth/sdk";
import { UserManager, WebStorageStateStore } from "oidc-client-ts";

const url = import.meta.env.VITE_PLINTH_URL ?? "http://127.0.0.1:8787";
const users = new UserManager({
  authority: `${url}/oauth2/v1`,
  client_id: "demo.web",
  redirect_uri: `${location.origin}/callback`,
  post_logout_redirect_uri: `${location.origin}/callback`,
  scope: "openid plat.pubsub.own_tenant_topic=*",
  userStore: new WebStorageStateStore({ store: sessionStorage }),
});
const byId = (id) => document.getElementById(id);

let refusal;
if (location.search.includes("state=")) {
  await users.signinCallback().catch((error) => (refusal = error.message));
  history.replaceState(null, "", "/");
}
const user = await users.getUser();
byId("who").textContent = refusal ?? (user ? `Hello ${user.profile.email}` : "Nobody is signed in");
byId("sign-in").hidden = user !== null;
byId("sign-out").hidden = user === null;
byId("sign-in").addEventListener("click", () => void users.signinRedirect());
byId("sign-out").addEventListener("click", () => void users.signoutRedirect());

if (user !== null) {
  // The SDK asks for the token whenever it needs one, and says if the platform refused the last: then renew it.
  const credentials = async (refused) => (await (refused ? users.signinSilent() : users.getUser())).access_token;
  const plinth = createPlinth({ url, credentials });
  const orders = plinth.topic("demo.shop", "orderPlaced");
  while ((await showOrders(orders)) === "no topic") await new Promise((resolve) => setTimeout(resolve, 2_000));
}

/** Shows events of the person's tenant, as they come. Ends only if there is no topic yet. */
async function showOrders(orders) {
  try {
    for await (const event of orders.consume()) {
      byId("state").textContent = "";
      const line = document.createElement("li");
      line.textContent = wordsFor(event);
      byId("orders").append(line);
    }
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    byId("state").textContent = "Nobody has published an order yet. This page asks again.";
    return "no topic";
  }
}

/** An event that is no order must not end the loop: the orders after it would not be shown. */
function wordsFor(event) {
  try {
    return `order ${event.json().order}`;
  } catch {
    return `not readable: ${event.payload}`;
  }
}
