import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Parameters } from "../model/parameters.ts";
import { refusedPage } from "../pages/page.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";
import { readRequest } from "./authorize.ts";
import type { AuthorizeDeps } from "./deps.ts";
import type { AuthorizationRequest } from "./request.ts";

/** The form of a page on the way of an authorization request, which the form carries as a field. */
export interface CarriedForm {
  readonly form: Parameters;
  readonly request: AuthorizationRequest;
}

/** `action`: its name in the log. A request that is not valid any more is answered as `/authorize` would. */
export async function readCarriedForm(
  deps: AuthorizeDeps,
  call: FormCall,
  action: string,
): Promise<Result<CarriedForm, Response>> {
  const form = readForm(deps, call, action);
  if (!form.ok) return form;
  const text = form.value.get("request");
  if (text === undefined) return err(refuseForm(deps, call, action, "request is missing."));
  const request = await readRequest(deps, call, new URLSearchParams(text));
  return request.ok ? ok({ form: form.value, request: request.value }) : request;
}

/** A 400 page. `detail`: what is wrong with the form, for the person and the log. */
export const refuseForm = (deps: AuthorizeDeps, call: FormCall, action: string, detail: string): Response =>
  refusedPage(deps, call, action, { detail, reason: detail, clientId: "" });
