import { useWords } from "../../words/words.ts";

/** The page of a window that signed in again, if the browser did not let it close itself. */
export function CallbackPage() {
  const { session: words } = useWords();
  return (
    <div className="door">
      <main>
        <h1>{words.closeWindow}</h1>
      </main>
    </div>
  );
}
