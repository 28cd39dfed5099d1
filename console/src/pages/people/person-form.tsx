import { getUser, putUser, type User } from "../../../../api/plinth.ts";
import { answer, operations } from "../../api/client.ts";
import { ServiceForm, TextField } from "../../components/forms/form.tsx";
import { useDraft } from "../../components/forms/use-draft.ts";
import { useWrite } from "../../components/forms/use-write.ts";
import { NewRecord } from "../../components/records/new-record.tsx";
import type { RecordFormProps } from "../../components/records/records.ts";
import { say } from "../../components/toasts/say.ts";
import { useWords } from "../../words/words.ts";

/** Creates a person. */
export const Page = () => <NewRecord kind="people" form={PersonForm} />;

export function PersonForm({ record: user, cancel, done }: RecordFormProps<User>) {
  const { people: words, common } = useWords();
  const [draft, field] = useDraft({ email: "", name: "", picture: "", locale: "", password: "" }, user);
  const write = useWrite(user);
  return (
    <ServiceForm
      act={user === undefined ? common.create : common.save}
      cancel={cancel}
      onSubmit={async () => {
        const { password } = draft;
        const email = draft.email.trim();
        // Without one, the service takes the address.
        const name = draft.name || user?.email;
        const profile = { picture: draft.picture.trim(), locale: draft.locale.trim() };
        const made = await write({
          key: "email",
          get: () => getUser(email, operations),
          typed: { ...profile, ...(name !== undefined && { name }), ...(password !== "" && { password }) },
          kept: (now) => ({ name: now.name }),
          put: (body, under) => answer(putUser(email, body, under)),
        });
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
