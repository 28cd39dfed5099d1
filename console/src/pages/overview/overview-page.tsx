import { Page } from "../../components/page.tsx";
import { useWords } from "../../words/words.ts";

export function OverviewPage() {
  const { overview: words } = useWords();
  return (
    <Page title={words.title} lead={words.lead}>
      <p />
    </Page>
  );
}
