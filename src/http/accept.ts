/** Whether one of the ranges of `Accept` covers JSON; one with `q=0` says that it does not. */
export function acceptsJson(accept: string | null): boolean {
  if (accept === null || accept.trim() === "") return true;
  return accept.split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    return !refused && ["*/*", "application/*", "application/json"].includes(type);
  });
}
