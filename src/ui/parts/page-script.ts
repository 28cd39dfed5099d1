import { createHash } from "node:crypto";

/**
 * A form is sent once while its answer is under way. The browser would show only the answer to the second press, and
 * new recovery codes, which are shown once, would be lost. After ten seconds it may be sent again: an answer without a
 * page, such as one to an application on the device, leaves the form where it is.
 */
const SEND_ONCE = `
  const root = document.documentElement;
  const free = () => root.removeAttribute("data-sending");
  const isFirst = () => {
    if (root.hasAttribute("data-sending")) return false;
    root.setAttribute("data-sending", "");
    setTimeout(free, 10000);
    return true;
  };
  addEventListener("submit", (event) => {
    if (!event.defaultPrevented && !isFirst()) event.preventDefault();
  });
  addEventListener("pageshow", free);
`;

/**
 * The browser's part of passkeys. Without it, or in a browser without passkeys, the other ways to sign in still work.
 *
 * The script reads its input from the button's `data-passkey`, asks the browser for a passkey, writes the answer to the
 * field `credential` of the button's form, and sends the form. It sends nothing else and calls no server.
 *
 *   get     runs when the button is pressed; if the page wants it, the address field offers passkeys (conditional UI)
 *   create  runs before the form is sent, and makes a passkey
 */
const PASSKEYS = `
  const button = document.querySelector("button[data-passkey]");
  const browser = window.PublicKeyCredential;
  if (button === null || browser === undefined || navigator.credentials === undefined) return;
  const form = button.form;
  const options = JSON.parse(button.dataset.passkey);
  const bytesOf = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const textOf = (buffer) =>
    btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const listed = (list) => list.map((one) => ({ type: "public-key", ...one, id: bytesOf(one.id) }));
  const challenge = bytesOf(options.challenge);
  const say = (name) => {
    for (const one of form.querySelectorAll("[data-passkey-fault]")) one.hidden = one.dataset.passkeyFault !== name;
  };
  const send = (answer) => {
    if (!isFirst()) return;
    const passwords = form.querySelectorAll("input[type=password]");
    form.elements.credential.value = JSON.stringify(answer);
    for (const field of passwords) field.disabled = true;
    form.submit();
    // The request is made; a person who comes back to the page can type a password.
    for (const field of passwords) field.disabled = false;
    form.elements.credential.value = "";
  };
  let waiting = new AbortController();
  const get = async (mediation) => {
    waiting.abort();
    waiting = new AbortController();
    const publicKey = {
      challenge,
      rpId: options.rpId,
      userVerification: "required",
      allowCredentials: listed(options.allow),
    };
    const { id, response } = await navigator.credentials.get({ publicKey, mediation, signal: waiting.signal });
    send({
      id,
      clientData: textOf(response.clientDataJSON),
      authenticatorData: textOf(response.authenticatorData),
      signature: textOf(response.signature),
      ...(response.userHandle === null ? {} : { userHandle: textOf(response.userHandle) }),
    });
  };
  const create = async () => {
    const publicKey = {
      challenge,
      rp: { id: options.rpId, name: options.rpId },
      user: { ...options.user, id: bytesOf(options.user.id) },
      pubKeyCredParams: options.algs.map((alg) => ({ type: "public-key", alg })),
      excludeCredentials: listed(options.known.map((id) => ({ id }))),
      authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
      attestation: "none",
    };
    const { id, response } = await navigator.credentials.create({ publicKey });
    send({
      id,
      clientData: textOf(response.clientDataJSON),
      attestation: textOf(response.attestationObject),
      transports: response.getTransports === undefined ? [] : response.getTransports(),
    });
  };
  const failed = (error) => {
    if (error.name !== "AbortError") say(error.name === "InvalidStateError" ? "known" : "failed");
  };
  button.hidden = false;
  say();
  if (options.user !== undefined) {
    let isMaking = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (isMaking || root.hasAttribute("data-sending")) return;
      isMaking = true;
      say();
      create().catch(failed).finally(() => (isMaking = false));
    });
    return;
  }
  button.addEventListener("click", () => {
    say();
    get("optional").catch(failed);
  });
  if (options.offered && browser.isConditionalMediationAvailable !== undefined)
    browser.isConditionalMediationAvailable()
      .then((can) => can && get("conditional"))
      // The person saw no question, so nothing is said.
      .catch(() => undefined);
`;

/** The only script file of the pages, for those with a form. */
export const PAGE_SCRIPT = `"use strict";\n(() => {${SEND_ONCE}${PASSKEYS}})();\n`;

const HASH = createHash("sha256").update(PAGE_SCRIPT).digest("hex").slice(0, 16);

/** The name contains a digest of the content, so a copy may be cached for ever. */
export const PAGE_SCRIPT_NAME = `pages-${HASH}.js`;
