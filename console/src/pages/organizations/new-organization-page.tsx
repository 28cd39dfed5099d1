import { NewRecord } from "../../components/records/new-record.tsx";
import { OrganizationForm } from "./organization-form.tsx";

export const Page = () => <NewRecord kind="organizations" form={OrganizationForm} />;
