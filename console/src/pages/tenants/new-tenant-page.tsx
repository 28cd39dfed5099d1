import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Card, Page as Frame } from "../../components/page.tsx";
import { useWords } from "../../words/words.ts";
import { TenantForm } from "./tenant-form.tsx";

export function Page() {
  const { tenants: words } = useWords();
  const navigate = useNavigate();
  const queries = useQueryClient();
  return (
    <Frame title={words.make} parent={{ href: "/tenants", title: words.title }}>
      <Card>
        <TenantForm
          cancel={() => void navigate({ to: "/tenants" })}
          done={async (id) => {
            void queries.invalidateQueries({ queryKey: ["tenants"] });
            await navigate({ to: "/tenants/$id", params: { id } });
          }}
        />
      </Card>
    </Frame>
  );
}
