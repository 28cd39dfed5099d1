import type { ErrorComponentProps } from "@tanstack/react-router";
import { PlinthError } from "../../../packages/sdk/src/errors.ts";
import { CircleAlert, Lock, SearchX, WifiOff } from "lucide-react";
import { faultOf, type Fault } from "../api/queries.ts";
import { useEffect } from "react";
import { PageLink, PlainButton } from "../components/plain.tsx";
import { useWords } from "../words/words.ts";
import { reload } from "./load.ts";

const ICONS = { refused: Lock, missing: SearchX, offline: WifiOff, busy: WifiOff, failed: CircleAlert } as const;

/** Explains a failure, and what to do, in place of a page or a part of one. */
export function FaultNotice({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const { faults, common } = useWords();
  const fault: Fault = faultOf(error);
  const Icon = ICONS[fault];
  const known = error instanceof PlinthError ? error : undefined;
  return (
    <div className="notice" role="alert" data-fault={fault}>
      <Icon aria-hidden />
      <h2>{faults[fault]}</h2>
      <p>{faults[`${fault}Text`]}</p>
      {known !== undefined && known.message !== "" && fault !== "offline" && <p className="muted">{known.message}</p>}
      {known?.requestId !== undefined && (
        <p className="muted">
          {faults.requestId}: <code>{known.requestId}</code>
        </p>
      )}
      {retry !== undefined && fault !== "refused" && fault !== "missing" && (
        <PlainButton onClick={retry}>{common.retry}</PlainButton>
      )}
    </div>
  );
}

/** The page of an address that leads nowhere. */
export function NothingHere() {
  const { faults } = useWords();
  return (
    <div className="notice">
      <SearchX aria-hidden />
      <h1>{faults.missing}</h1>
      <p>{faults.missingText}</p>
      <PageLink className="button" href="/">
        {faults.toOverview}
      </PageLink>
    </div>
  );
}

/** Shown in place of a page that threw an error. */
export function Broken({ error }: ErrorComponentProps) {
  const { faults } = useWords();
  const again = () => void reload();
  useEffect(() => {
    window.addEventListener("online", again);
    return () => window.removeEventListener("online", again);
  });
  if (error instanceof PlinthError) return <FaultNotice error={error} retry={again} />;
  return (
    <div className="notice" role="alert">
      <CircleAlert aria-hidden />
      <h1>{faults.broken}</h1>
      <p>{faults.brokenText}</p>
      <p className="muted">{String(error)}</p>
      <div className="buttons">
        <PlainButton onClick={again}>{faults.reload}</PlainButton>
        <PageLink className="button" href="/">
          {faults.toOverview}
        </PageLink>
      </div>
    </div>
  );
}
