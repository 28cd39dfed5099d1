import { useState } from "react";
import { putUser, type User } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

interface PersonFormProps {
  /** Absent: a new account. */
  readonly user?: User;
  readonly cancel: () => void;
  readonly done: (email: string) => Promise<unknown>;
}

export function PersonForm({ user, cancel, done }: PersonFormProps) {
  const { people: words, common } = useWords();
  const [email, setEmail] = useState(user?.email ?? "");
  const [name, setName] = useState(user?.name ?? "");
  const [picture, setPicture] = useState(user?.picture ?? "");
  const [locale, setLocale] = useState(user?.locale ?? "");
  const [password, setPassword] = useState("");
  return (
    <ServiceForm
      act={user === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const profile = { picture: picture.trim(), locale: locale.trim() };
        const body = { ...profile, ...(name !== "" && { name }), ...(password !== "" && { password }) };
        const made = await answer(putUser(email.trim(), body, operations));
        say.done(common.saved(made.email));
        await done(made.email);
      }}
    >
      {user === undefined && (
        <TextField name="email" type="email" label={words.email} value={email} onChange={setEmail} isRequired />
      )}
      <TextField name="name" label={words.displayName} value={name} onChange={setName} />
      <TextField
        name="picture"
        type="url"
        label={words.picture}
        help={words.pictureHelp}
        placeholder="https://"
        value={picture}
        onChange={setPicture}
      />
      <TextField
        name="locale"
        label={words.locale}
        help={words.localeHelp}
        placeholder="en-GB"
        value={locale}
        onChange={setLocale}
      />
      <TextField
        name="password"
        type="password"
        autoComplete="new-password"
        label={words.password}
        help={user === undefined ? words.passwordHelp : words.passwordKept}
        value={password}
        onChange={setPassword}
      />
    </ServiceForm>
  );
}
