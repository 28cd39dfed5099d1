export interface OwnTenant {
    readonly tenant: string;
    readonly secret: string;
}
