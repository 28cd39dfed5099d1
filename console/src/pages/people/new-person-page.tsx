import { NewRecord } from "../../components/records/new-record.tsx";
import { PersonForm } from "./person-form.tsx";

export const Page = () => <NewRecord kind="people" form={PersonForm} />;
