import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Card, Page as Frame } from "../../components/page.tsx";
import { useWords } from "../../words/words.ts";
import { PersonForm } from "./person-form.tsx";

export function Page() {
  const { people: words } = useWords();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <Frame title={words.make} parent={{ href: "/people", title: words.title }}>
      <Card>
        <PersonForm
          cancel={() => void navigate({ to: "/people" })}
          done={async (email) => {
            void queries.invalidateQueries({ queryKey: ["people"] });
            await navigate({ to: "/people/$email", params: { email } });
          }}
        />
      </Card>
    </Frame>
  );
}
