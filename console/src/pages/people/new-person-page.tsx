import { NewRecord } from "../../components/records/new-record.tsx";
import { useWords } from "../../words/words.ts";
import { PersonForm } from "./person-form.tsx";

export const Page = () => <NewRecord kind="people" words={useWords().people} form={PersonForm} />;
