import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Autocomplete, useFilter } from "react-aria-components";
import { Header, ListBox, ListBoxItem, ListBoxSection } from "react-aria-components";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";
import { Input, Label, SearchField } from "react-aria-components";
import { usePerson } from "../session/session.ts";
import { useWords } from "../words/words.ts";
import { PLACES } from "./navigation.ts";

/** Ctrl-K: every page, and what the platform finds by id or name. */
export default function Palette({ close }: { readonly close: () => void }) {
  const { palette, navigation } = useWords();
  const { rights } = usePerson();
  const { contains } = useFilter({ sensitivity: "base" });
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const places = PLACES.filter(({ mayOpen }) => mayOpen(rights));
  return (
    <ModalOverlay className="overlay high" isOpen isDismissable onOpenChange={(isOpen) => !isOpen && close()}>
      <Modal className="palette">
        <Dialog aria-label={palette.title}>
          <Autocomplete inputValue={text} onInputChange={setText} filter={contains}>
            <SearchField autoFocus className="palette-field">
              <Label className="hidden">{palette.title}</Label>
              <Input placeholder={palette.placeholder} />
            </SearchField>
            <ListBox
              aria-label={palette.title}
              className="palette-list"
              renderEmptyState={() => <p className="muted">{palette.empty}</p>}
              onAction={(key) => {
                close();
                void navigate({ href: String(key) });
              }}
            >
              <ListBoxSection>
                <Header>{palette.pages}</Header>
                {places.map(({ to, label, icon: Icon }) => (
                  <ListBoxItem key={to} id={to} textValue={label(navigation)}>
                    <Icon aria-hidden size={16} />
                    {label(navigation)}
                  </ListBoxItem>
                ))}
              </ListBoxSection>
            </ListBox>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
