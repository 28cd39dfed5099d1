import { Link, Outlet } from "@tanstack/react-router";
import { onlineManager } from "@tanstack/react-query";
import { Command, Menu as MenuIcon, WifiOff } from "lucide-react";
import { Component, lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { ReactNode, RefObject } from "react";
import { PlainButton } from "../components/plain.tsx";
import { Waiting } from "../components/waiting.tsx";
import { signOut, usePerson, useSession } from "../session/session.ts";
import { useSignInAgain } from "../session/use-sign-in-again.ts";
import { useWords } from "../words/words.ts";
import { reload } from "./load.ts";
import { GROUPS, PLACES } from "./navigation.ts";

/** Parts that are loaded when they are first opened. */
const Palette = lazy(() => import("./palette.tsx"));
const overlays = () => import("./overlays.tsx");
const Drawer = lazy(async () => ({ default: (await overlays()).Drawer }));
const PersonCard = lazy(async () => ({ default: (await overlays()).PersonCard }));
const Expired = lazy(async () => ({ default: (await overlays()).Expired }));

type Overlay = "palette" | "drawer" | "person";

/** The frame of all pages: navigation, palette, preferences and overlays. */
export function Shell() {
  const { common } = useWords();
  const person = usePerson();
  const { state } = useSession();
  const [overlay, setOverlay] = useState<Overlay>();
  const typed = useRef("");
  const close = () => {
    typed.current = "";
    setOverlay(undefined);
  };
  const hasRights = person.rights.read || person.rights.tenantsOnly;

  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOverlay("palette");
    };
    window.addEventListener("keydown", open);
    return () => window.removeEventListener("keydown", open);
  }, []);

  return (
    <div className="shell">
      <a className="skip" href="#content">
        {common.skip}
      </a>
      <aside className="side">
        <Brand />
        <Places />
      </aside>
      <div className="column">
        <header className="top">
          <PlainButton className="icon narrow" aria-label={common.menu} onClick={() => setOverlay("drawer")}>
            <MenuIcon aria-hidden />
          </PlainButton>
          <FindButton onPress={() => setOverlay("palette")} />
          <PersonButton onPress={() => setOverlay("person")} />
        </header>
        <div className="bars-above">
          <ConnectionLost />
          <Waiting />
          <Kept key={state === "expired" ? state : overlay} instead={<NotLoaded isExpired={state === "expired"} />}>
            <Suspense fallback={overlay === "palette" && <KeepKeys close={close} typed={typed} />}>
              {overlay === "palette" && <Palette close={close} typed={typed} />}
              {overlay === "drawer" && <Drawer close={close} />}
              {overlay === "person" && <PersonCard close={close} />}
              {state === "expired" && <Expired />}
            </Suspense>
          </Kept>
        </div>
        <main id="content" tabIndex={-1}>
          {hasRights ? <Outlet /> : <NoRights />}
        </main>
      </div>
    </div>
  );
}

/** Keeps what is typed while the palette is loaded: it would be lost, or go into a form below. */
function KeepKeys({ close, typed }: { readonly close: () => void; readonly typed: RefObject<string> }) {
  useEffect(() => {
    const keep = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey } = event;
      if (metaKey || (ctrlKey && !event.getModifierState("AltGraph"))) return;
      if (key === "Escape") close();
      else if (key === "Backspace") typed.current = typed.current.slice(0, -1);
      else if (key.length === 1) typed.current += key;
      else if (key !== "Enter") return;
      event.preventDefault();
    };
    window.addEventListener("keydown", keep, true);
    return () => window.removeEventListener("keydown", keep, true);
  }, [close, typed]);
  return null;
}

interface KeptProps {
  readonly instead: ReactNode;
  readonly children: ReactNode;
}

/** Keeps the page, with what is typed there, if a part above it fails. */
class Kept extends Component<KeptProps> {
  static getDerivedStateFromError = () => ({ hasFailed: true });
  override state = { hasFailed: false };
  override render(): ReactNode {
    return this.state.hasFailed ? this.props.instead : this.props.children;
  }
}

/** A part could not be loaded: without a connection, or since there is a new release. */
function NotLoaded({ isExpired }: { readonly isExpired: boolean }) {
  const { faults, session } = useWords();
  const [again, failure] = useSignInAgain();
  return (
    <div className="offline" role="alert">
      <p>{isExpired ? (failure ?? session.expiredTitle) : faults.partMissing}</p>
      {isExpired ? (
        <PlainButton onClick={again}>{session.again}</PlainButton>
      ) : (
        <PlainButton onClick={() => void reload()}>{faults.reload}</PlainButton>
      )}
    </div>
  );
}

export function Brand() {
  return (
    <Link to="/" className="brand">
      <svg viewBox="0 0 24 24" aria-hidden>
        <path fill="currentColor" d="M4 3h16v4h-3v10h4v4H3v-4h4V7H4z" />
      </svg>
      Plinth
    </Link>
  );
}

export function Places({ onChosen }: { readonly onChosen?: () => void }) {
  const { navigation, common } = useWords();
  const { rights } = usePerson();
  return (
    <nav aria-label={common.navigation} className="places">
      {GROUPS.map((group) => {
        const places = PLACES.filter((place) => place.group === group && place.mayOpen(rights));
        if (places.length === 0) return null;
        return (
          <section key={group}>
            <h2>{navigation[group]}</h2>
            <ul>
              {places.map(({ to, label, icon: Icon }) => (
                <li key={to}>
                  <Link to={to} activeOptions={{ exact: to === "/" }} onClick={onChosen}>
                    <Icon aria-hidden strokeWidth={1.8} />
                    {label(navigation)}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}

function FindButton({ onPress }: { readonly onPress: () => void }) {
  const { palette } = useWords();
  return (
    <PlainButton className="find" onClick={onPress}>
      <Command aria-hidden />
      <span>{palette.title}</span>
      <kbd aria-hidden>{palette.hint}</kbd>
    </PlainButton>
  );
}

function PersonButton({ onPress }: { readonly onPress: () => void }) {
  const { common } = useWords();
  const { user: name } = usePerson();
  return (
    <PlainButton className="person" aria-label={`${common.account}: ${name}`} onClick={onPress}>
      <span className="avatar" aria-hidden data-letter={(name[0] ?? "?").toUpperCase()} />
      <span className="wide">{name}</span>
    </PlainButton>
  );
}

function ConnectionLost() {
  const { common } = useWords();
  const isOnline = useSyncExternalStore(
    (listener) => onlineManager.subscribe(listener),
    () => onlineManager.isOnline(),
  );
  return (
    <div role="status">
      {!isOnline && (
        <div className="offline">
          <WifiOff aria-hidden />
          <p>{common.offline}</p>
        </div>
      )}
    </div>
  );
}

function NoRights() {
  const { session: words, common } = useWords();
  return (
    <div className="notice" role="alert">
      <h1>{words.noRights}</h1>
      <p>{words.noRightsText}</p>
      <PlainButton onClick={() => void signOut()}>{common.signOut}</PlainButton>
    </div>
  );
}
