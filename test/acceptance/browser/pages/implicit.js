/*
 * The implicit flow by hand: the page sends the browser away, reads the fragment that it comes back with, and checks
 * it.
 */
const REDIRECT_URI = `${location.origin}/implicit`;

if (location.hash !== "") void show(land());

window.start = (responseType, more = {}) => {
  const [state, nonce] = [crypto.randomUUID(), crypto.randomUUID()];
  sessionStorage.setItem("asked", JSON.stringify({ state, nonce }));
  const parameters = {
    response_type: responseType,
    client_id: SETTINGS.clientId,
    redirect_uri: REDIRECT_URI,
    scope: SETTINGS.scope,
    state,
    nonce,
    ...more,
  };
  location.assign(`${SETTINGS.issuer}/authorize?${new URLSearchParams(parameters)}`);
};

async function land() {
  const answer = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  history.replaceState(null, "", location.pathname);
  const asked = JSON.parse(sessionStorage.getItem("asked"));
  demand(answer.state === asked.state, "the state is not mine");
  demand(answer.iss === SETTINGS.issuer, "the issuer is another");
  if (answer.error !== undefined) return { error: answer.error, description: answer.error_description };
  demand(answer.token_type === "bearer" && Number(answer.expires_in) === 3600, "not a token of an hour");
  const user = await callWith(answer.access_token, "userinfo");
  const claims = answer.id_token === undefined ? undefined : await verify(answer, asked.nonce);
  return { user, claims, scopes: answer.scope.split(" ") };
}

async function callWith(token, path) {
  const response = await fetch(`${SETTINGS.issuer}/${path}`, { headers: { Authorization: `Bearer ${token}` } });
  return response.json();
}

/** OIDC Core 3.2.2.9 and 3.2.2.11. */
async function verify({ id_token: idToken, access_token: accessToken }, nonce) {
  const metadata = await (await fetch(`${SETTINGS.issuer}/.well-known/openid-configuration`)).json();
  const { keys } = await (await fetch(metadata.jwks_uri)).json();
  const [header, payload, signature] = idToken.split(".");
  const { alg, kid } = JSON.parse(new TextDecoder().decode(bytes(header)));
  demand(alg === "RS256", "not signed by RS256");
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const jwk = keys.find((key) => key.kid === kid);
  const key = await crypto.subtle.importKey("jwk", jwk, algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${header}.${payload}`);
  demand(await crypto.subtle.verify(algorithm, key, bytes(signature), signed), "the signature does not hold");
  const claims = JSON.parse(new TextDecoder().decode(bytes(payload)));
  demand(claims.iss === SETTINGS.issuer && claims.aud === SETTINGS.clientId, "for somebody else");
  demand(claims.exp > Date.now() / 1000 && claims.nonce === nonce, "old, or not for this request");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(accessToken));
  demand(claims.at_hash === base64url(digest.slice(0, 16)), "the access token is another's");
  return claims;
}

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

const base64url = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

function demand(holds, what) {
  if (!holds) throw new Error(what);
}

async function show(pending) {
  const outcome = await pending.catch(({ message }) => ({ failed: message }));
  document.querySelector("output").textContent = JSON.stringify(outcome);
}
