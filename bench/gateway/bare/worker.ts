/**
 * What the gateway is measured against: a Worker that fetches from the service and answers what it got. No token is
 * looked at, no header removed or made, nothing is rewritten, counted or limited; the runtime moves the body by itself.
 */
export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    return fetch(`${request.headers.get("bench-service")}${pathname}`, { redirect: "manual" });
  },
} satisfies ExportedHandler;
