import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Card, Page as Frame } from "../../components/page.tsx";
import { useWords } from "../../words/words.ts";
import { OrganizationForm } from "./organization-form.tsx";

export function Page() {
  const { organizations: words } = useWords();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <Frame title={words.make} parent={{ href: "/organizations", title: words.title }}>
      <Card>
        <OrganizationForm
          cancel={() => void navigate({ to: "/organizations" })}
          done={async (id) => {
            void queries.invalidateQueries({ queryKey: ["organizations"] });
            await navigate({ to: "/organizations/$id", params: { id } });
          }}
        />
      </Card>
    </Frame>
  );
}
