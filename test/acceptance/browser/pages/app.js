/* Signs in with oidc-client-ts, as its documentation says, and shows what came of it. */
const manager = new oidc.UserManager({
  authority: SETTINGS.issuer,
  client_id: SETTINGS.clientId,
  scope: SETTINGS.scope,
  redirect_uri: `${location.origin}/callback`,
  popup_redirect_uri: `${location.origin}/popup`,
  silent_redirect_uri: `${location.origin}/silent`,
  post_logout_redirect_uri: `${location.origin}/signed-out`,
  loadUserInfo: true,
  automaticSilentRenew: false,
  includeIdTokenInSilentRenew: true,
  revokeTokensOnSignout: true,
});

const callbacks = {
  "/callback": () => manager.signinRedirectCallback(),
  "/popup": () => manager.signinPopupCallback(),
  "/silent": () => manager.signinSilentCallback(),
  "/signed-out": () => manager.signoutRedirectCallback(),
};
if (callbacks[location.pathname] !== undefined) void show(callbacks[location.pathname]());

/** Calls the manager; in tests, by name. */
window.run = (method, ...given) => show(manager[method](...given));

async function show(pending) {
  const outcome = await pending.then(describe, ({ message, error }) => ({ failed: message, error }));
  document.querySelector("output").textContent = JSON.stringify(outcome);
  return outcome;
}

function describe(user) {
  if (user?.profile === undefined) return { done: true };
  const { profile, scopes, access_token: accessToken, refresh_token: refreshToken, state } = user;
  return { profile, scopes, accessToken, hasRefreshToken: refreshToken !== undefined, state };
}
