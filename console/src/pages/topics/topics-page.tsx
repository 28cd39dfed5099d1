import { Page as Frame } from "../../components/page.tsx";
import { Loading } from "../../components/states.tsx";
import { useWords } from "../../words/words.ts";

export function Page() {
  const { navigation } = useWords();
  return (
    <Frame title={navigation.topics}>
      <Loading />
    </Frame>
  );
}
