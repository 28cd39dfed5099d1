import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { I18nProvider, RouterProvider as AriaRouter } from "react-aria-components";
import { queryClient } from "./api/queries.ts";
import { router } from "./app/router.tsx";
import { useSomethingSaid } from "./components/toasts/say.ts";
import { CONSOLE_PATH, loadConfig } from "./session/config.ts";
import { loadWords, useLanguage } from "./words/words.ts";
import "./styles/index.css";

/** Messages alone do not end the console if they cannot be loaded, such as after a new release. */
const Toasts = lazy(() => import("./components/toasts/toasts.tsx").catch(() => ({ default: () => <></> })));

function App() {
  const language = useLanguage();
  const hasSpoken = useSomethingSaid();
  return (
    <I18nProvider locale={language === "de" ? "de-DE" : "en-US"}>
      <AriaRouter
        navigate={(href) => void router.navigate({ href })}
        useHref={(href) => (href.startsWith("/") ? `${CONSOLE_PATH}${href}` : href)}
      >
        <QueryClientProvider client={queryClient}>
          <RouterProvider router={router} />
          {hasSpoken && (
            <Suspense>
              <Toasts />
            </Suspense>
          )}
        </QueryClientProvider>
      </AriaRouter>
    </I18nProvider>
  );
}

const root = createRoot(document.getElementById("root")!);
try {
  await Promise.all([loadConfig(), loadWords()]);
  root.render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
} catch {
  // The table of texts may be what could not be loaded, so this text is fixed.
  root.render(<p className="notice">The platform cannot be reached. Load the page again in a moment.</p>);
}
