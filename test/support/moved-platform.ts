import { Browser, toInit } from "./browser.ts";
import { isolate } from "./isolate.ts";

/** A browser at a platform with another name and path prefix, which a proxy serves at another origin. */
export function browserAtMoved(): Browser {
  const worker = isolate({ PLATFORM: "acme", PATH_PREFIX: "/base", PUBLIC_URL: "https://public.example" });
  return new Browser({
    send: (address, init) =>
      worker.fetch(address.replace("https://public.example", "http://private.example"), toInit(init)),
  });
}
