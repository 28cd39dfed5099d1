import { useState, type CSSProperties } from "react";
import type { Tenant } from "../../../api/plinth.ts";
import {
  accentContrast,
  accentsOf,
  COLOR,
  LEAST_CONTRAST,
  THEMES,
  type Theme,
} from "../../../src/platform/model/brand.ts";
import { useWords } from "../words/words.ts";
import { SmallButton } from "./button.tsx";
import { Panel } from "./panel.tsx";
import { ServiceForm, TextField } from "./forms/form.tsx";
import { useChanges } from "./forms/use-write.ts";
import { Card } from "./page.tsx";
import { say } from "./toasts/say.ts";
import { Badge } from "./states.tsx";

type Brand = Tenant["brand"];

interface BrandCardProps {
  readonly brand: Brand;
  readonly mayChange: boolean;
  /** Writes what `next` makes of the brand as it is now. */
  readonly change: (next: (now: Brand) => Brand) => Promise<unknown>;
}

/** The look of sign-in pages and mails, as people see it, and its form. */
export function BrandCard({ brand, mayChange, change }: BrandCardProps) {
  const { brand: words, common } = useWords();
  const [isEditing, edit] = useState(false);
  const isEmpty = Object.values(brand).every((value) => value === "");
  return (
    <Card
      title={words.title}
      actions={
        mayChange && (
          <SmallButton label={`${common.edit}: ${words.title}`} onPress={() => edit(true)}>
            {common.edit}
          </SmallButton>
        )
      }
    >
      {isEmpty ? <p className="muted">{words.none}</p> : <Previews brand={brand} />}
      <Panel title={words.title} isOpen={isEditing} close={() => edit(false)}>
        <BrandForm
          brand={brand}
          cancel={() => edit(false)}
          change={async (next) => {
            await change(next);
            say.done(common.saved(words.title));
            edit(false);
          }}
        />
      </Panel>
    </Card>
  );
}

const SHOWN = ["name", "accentColor", "accentColorDark"] as const;
const ADDRESSES = ["logoUri", "termsUri", "privacyUri"] as const;

interface BrandFormProps extends Omit<BrandCardProps, "mayChange"> {
  readonly cancel: () => void;
}

function BrandForm({ brand, cancel, change }: BrandFormProps) {
  const { brand: words, common } = useWords();
  const [draft, setDraft] = useState(brand);
  const changes = useChanges(brand);
  const fieldOf = (field: keyof Brand) => (
    <TextField
      key={field}
      name={`brand.${field}`}
      label={words.fields[field]}
      help={words.help[field]}
      value={draft[field]}
      onChange={(value) => setDraft({ ...draft, [field]: value.trim() === "" ? "" : value })}
    />
  );
  return (
    <ServiceForm
      act={common.save}
      cancel={cancel}
      onSubmit={() => change((now) => ({ ...now, ...changes.over(now, draft, (field) => `brand.${field}`) }))}
    >
      {SHOWN.map(fieldOf)}
      <Previews brand={draft} />
      {ADDRESSES.map(fieldOf)}
    </ServiceForm>
  );
}

/** Both themes, with the contrast that the service checks. */
function Previews({ brand }: { readonly brand: Brand }) {
  return (
    <div className="brand-previews">
      <Preview brand={brand} theme="light" />
      <Preview brand={brand} theme="dark" />
    </div>
  );
}

function Preview({ brand, theme }: { readonly brand: Brand; readonly theme: Theme }) {
  const { brand: words } = useWords();
  const own = theme === "light" ? "#0e5a75" : "#83cbe4";
  const accent = accentsOf(brand)?.[theme].accent ?? own;
  const { ratio } = accentContrast(accent, theme);
  const { page, surface, onAccent } = THEMES[theme];
  const colours = { "--p-page": page, "--p-surface": surface, "--p-accent": accent, "--p-on": onAccent };
  return (
    <figure className={`brand-preview ${theme}`} style={colours as CSSProperties}>
      <div aria-hidden="true">
        <strong>{brand.name || location.host}</strong>
        {brand.name !== "" && <small>{location.host}</small>}
        <span className="brand-button">{words.button}</span>
        <u>{words.link}</u>
      </div>
      <figcaption>
        {words.themes[theme]}{" "}
        {COLOR.test(brand.accentColor) && (
          <Badge kind={ratio >= LEAST_CONTRAST ? "good" : "bad"}>{words.contrast(ratio.toFixed(1))}</Badge>
        )}
      </figcaption>
    </figure>
  );
}
