import type { Pages } from "../oauth/ports.ts";

export function createPages(_pathPrefix: string): Pages {
  const page = (status: number, text: string): Response => new Response(text, { status });
  return {
    signIn: (view) => page(view.status, "sign in"),
    chooseTenant: () => page(200, "choose"),
    error: (view) => page(view.status, view.detail),
    signedOut: () => page(200, "signed out"),
  };
}
