import { isolate, type Isolate } from "../../isolate.ts";
import { ORIGIN } from "../../platform/call.ts";

/** A browser at one isolate of the platform. It keeps cookies and follows no redirects. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly platform: Isolate;

  constructor(platform: Isolate = isolate()) {
    this.platform = platform;
  }

  async get(address: string): Promise<Response> {
    const { pathname, search } = new URL(address, ORIGIN);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.platform.fetch(pathname + search, cookie === "" ? {} : { headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }
}
