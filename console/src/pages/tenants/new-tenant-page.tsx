import { NewRecord } from "../../components/records/new-record.tsx";
import { useWords } from "../../words/words.ts";
import { TenantForm } from "./tenant-form.tsx";

export const Page = () => <NewRecord kind="tenants" words={useWords().tenants} form={TenantForm} />;
