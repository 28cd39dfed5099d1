import { getUser, putUser, type User } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { mustBeNew } from "../../components/forms/form-fault.ts";
import { useDraft } from "../../components/forms/use-draft.ts";
import { NewRecord } from "../../components/records/new-record.tsx";
import type { RecordFormProps } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

/** Creates a person. */
export const Page = () => <NewRecord kind="people" form={PersonForm} />;

export function PersonForm({ record: user, cancel, done }: RecordFormProps<User>) {
  const { people: words, common } = useWords();
  const [draft, field] = useDraft({ email: "", name: "", picture: "", locale: "", password: "" }, user);
  return (
    <ServiceForm
      act={user === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const { name, password } = draft;
        const profile = { picture: draft.picture.trim(), locale: draft.locale.trim() };
        const body = { ...profile, ...(name !== "" && { name }), ...(password !== "" && { password }) };
        const email = draft.email.trim();
        if (user === undefined) await mustBeNew(getUser(email, operations), "email", common.taken);
        const made = await answer(putUser(email, body, operations));
        say.done(common.saved(made.email));
        await done(made.email);
      }}
    >
      {user === undefined && <TextField {...field("email")} type="email" label={words.email} isRequired />}
      <TextField {...field("name")} label={words.displayName} />
      <TextField
        {...field("picture")}
        type="url"
        label={words.picture}
        help={words.pictureHelp}
        placeholder="https://"
      />
      <TextField {...field("locale")} label={words.locale} help={words.localeHelp} placeholder="en-GB" />
      <TextField
        {...field("password")}
        type="password"
        autoComplete="new-password"
        label={words.password}
        help={user === undefined ? words.passwordHelp : words.passwordKept}
      />
    </ServiceForm>
  );
}
