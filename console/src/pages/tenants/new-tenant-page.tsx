import { NewRecord } from "../../components/records/new-record.tsx";
import { TenantForm } from "./tenant-form.tsx";

export const Page = () => <NewRecord kind="tenants" form={TenantForm} />;
