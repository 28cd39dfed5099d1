import { Card, Page as Frame } from "../../components/page.tsx";
import { useWords } from "../../words/words.ts";
import { RoleForm } from "./role-page.tsx";

export function Page() {
  const { roles: words } = useWords();
  return (
    <Frame title={words.make} parent={{ href: "/roles", title: words.title }}>
      <Card>
        <RoleForm />
      </Card>
    </Frame>
  );
}
