import { NewRecord } from "../../components/records/new-record.tsx";
import { useWords } from "../../words/words.ts";
import { OrganizationForm } from "./organization-form.tsx";

export const Page = () => <NewRecord kind="organizations" words={useWords().organizations} form={OrganizationForm} />;
