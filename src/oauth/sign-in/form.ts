import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Names } from "../../platform/model/names.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters, type Parameters } from "../model/parameters.ts";
import { refusedPage, type RefusedPageDeps } from "../pages/page.ts";
import { CROSS_SITE_FORM, isCrossSite } from "./browser.ts";

export type FormCall = AnyCall & { readonly body: URLSearchParams };

interface FormDeps extends RefusedPageDeps {
  readonly names: Names;
}

/**
 * Reads a form of our own pages. A form of another site, or one with a field twice (model/parameters.ts), gets a 400
 * page. `action`: its name in the log.
 */
export function readForm(deps: FormDeps, call: FormCall, action: string): Result<Parameters, Response> {
  const refuse = (detail: string, reason: string) =>
    err(refusedPage(deps, call, action, { detail, reason, clientId: "" }));
  if (isCrossSite(call)) return refuse(CROSS_SITE_FORM, CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  return form.ok ? ok(form.value) : refuse(form.error.description, form.error.reason);
}
