// @ts-nocheck
/**
 * Plinth
 * 0.1.0
 * DO NOT MODIFY - This file has been generated using oazapfts.
 * See https://www.npmjs.com/package/oazapfts
 */
import * as Oazapfts from "@oazapfts/runtime";
import * as QS from "@oazapfts/runtime/query";
export const defaults: Oazapfts.Defaults<Oazapfts.CustomHeaders> = {
    headers: {},
    baseUrl: "http://127.0.0.1:8787"
};
const oazapfts = Oazapfts.runtime(defaults);
export const servers = {
    aDeploymentOfThePlatform: ({ origin = "http://127.0.0.1:8787", PATH_PREFIX = "" }: {
        origin: string | number | boolean;
        PATH_PREFIX: string | number | boolean;
    }) => `${origin}${PATH_PREFIX}`
};
export type Health = {
    /** The Worker answers. */
    status: "ok";
};
export type Error = {
    /** The HTTP status. */
    status: number;
    /** What kind of error this is; `moreInfo` says what to do about it. */
    "type": "bad_payload_syntax" | "validation_violation" | "business_error" | "insufficient_credentials" | "insufficient_permissions" | "element_resource_non_existing" | "unsupported_method" | "unsupported_response_content_type" | "conflict_resource" | "topic_locked" | "topic_not_locked" | "precondition_failed" | "bad_payload_size" | "uri_too_long" | "unsupported_request_content_type" | "range_not_satisfiable" | "insufficient_resources" | "internal_service_error" | "service_temporarily_unavailable";
    /** What was wrong with this request, and what to do next. For people: it may change. */
    message: string;
    /** The entry of the error reference. */
    moreInfo: string;
    /** Each thing that is wrong; at most 20. */
    details: {
        /** What exactly is wrong; the error reference says what to do about it. */
        "type": "missing_field" | "invalid_field" | "missing_header" | "invalid_header" | "missing_query_parameter" | "invalid_query_parameter" | "invalid_uri_parameter" | "out_of_range_parameter" | "taken" | "in_use" | "built_in" | "not_confidential" | "tenant_refused" | "idempotency_key_used" | "topic_exists" | "topic_deletion_in_progress" | "lock_expired" | "unknown_token" | "already_committed" | "subscription_exists" | "subscription_disabled" | "subscription_unverified" | "too_many_subscriptions" | "credentials_unreadable" | "event_expired" | "file_not_uploaded" | "already_uploaded" | "upload_changed" | "quota_exceeded" | "query_too_broad" | "unsupported_content_type" | "too_many_transformations" | "too_many_variants" | "too_many_attributes" | "comparison_running" | "repair_under_way" | "other_run_under_way";
        /** The field in bean notation, else the parameter or header; empty where it is none of them. */
        field: string;
        /** The same for people. */
        message: string;
        /** The entry of the error reference. */
        moreInfo: string;
    }[];
    /** At `/userinfo` alone: RFC 6750's word for it. */
    error?: string;
    /** At `/userinfo` alone: the message. */
    error_description?: string;
};
export type TokenResponse = {
    /** How the token is used. */
    token_type: "Bearer";
    /** The access token. Opaque. */
    access_token: string;
    /** Seconds that it lives. */
    expires_in: number;
    /** What it is good for, separated by spaces: the tenant's scope first. */
    scope: string;
    /** With `authorization_code` and `refresh_token`, for clients registered for it. */
    refresh_token?: string;
    /** With the scope `openid`: who signed in (RS256). */
    id_token?: string;
};
export type OAuthError = {
    /** RFC 6749 5.2; the error reference says what to do about each. */
    error: "invalid_request" | "invalid_client" | "invalid_grant" | "invalid_scope" | "unauthorized_client" | "unsupported_grant_type" | "unsupported_response_type" | "access_denied" | "login_required" | "interaction_required" | "consent_required" | "account_selection_required" | "request_not_supported" | "request_uri_not_supported" | "registration_not_supported" | "invalid_query_parameter" | "invalid_token" | "temporarily_unavailable" | "server_error";
    /** The same for people; generic where more would tell a stranger too much. */
    error_description: string;
    /** The error reference, with the request id: the operator finds the exact reason by it. */
    error_uri: string;
};
export type TokenInfo = {
    /** What the token is good for; where it is for first. */
    scopes: string[];
    /** Its tenant; empty for an organization, or outside of any tenant. */
    tenant: string;
    /** Its client; empty where a user signed in without one. */
    clientId: string;
    /** The user that it was issued for. */
    user?: string;
    /** With `details=true`: services that packages brought to the tenant. */
    allowedServices?: {
        /** The service. */
        name: string;
        /** Where it is reached. */
        proxyUrl: string[];
        /** Its scopes. */
        serviceScopes: string[];
    }[];
};
export type Empty = {};
export type Introspection = {
    /** Whether the token is good now, and the caller may know. */
    active: boolean;
    /** Its scopes, separated by spaces. */
    scope?: string;
    /** Its client. */
    client_id?: string;
    /** Of an access token. */
    token_type?: "Bearer";
    /** The user, as ID tokens and `/userinfo` have it; else the client's id. */
    sub?: string;
    /** The user's e-mail. */
    username?: string;
    /** Who issued it. */
    iss?: string;
    /** Whom it is for. */
    aud?: string;
    /** When it was issued, in seconds. */
    iat?: number;
    /** When it expires, in seconds. */
    exp?: number;
    /** Its id. */
    jti?: string;
    /** Its tenant; empty outside of any. */
    tenant?: string;
};
export type JwkSet = {
    /** Keys that sign now, will, or did lately. */
    keys: {
        /** The kind of key. */
        kty: "EC" | "RSA";
        /** The key's id, as tokens name it. */
        kid: string;
        /** ES256 signs access tokens, RS256 ID tokens. */
        alg: "ES256" | "RS256";
        /** It verifies signatures. */
        use: "sig";
        /** EC: the curve. */
        crv?: string;
        /** EC: the point. */
        x?: string;
        /** EC: the point. */
        y?: string;
        /** RSA: the modulus. */
        n?: string;
        /** RSA: the exponent. */
        e?: string;
    }[];
};
export type ServerMetadata = {
    /** Who issues tokens. */
    issuer: string;
    /** The address of the endpoint. */
    authorization_endpoint: string;
    /** The address of the endpoint. */
    token_endpoint: string;
    /** The address of the endpoint. */
    userinfo_endpoint: string;
    /** The address of the endpoint. */
    jwks_uri: string;
    /** The address of the endpoint. */
    revocation_endpoint: string;
    /** The address of the endpoint. */
    introspection_endpoint: string;
    /** The address of the endpoint. */
    end_session_endpoint: string;
    /** Scopes of the platform itself. */
    scopes_supported: string[];
    /** What `/authorize` gives. */
    response_types_supported: string[];
    /** How it gives it. */
    response_modes_supported: string[];
    /** Ways to get a token. */
    grant_types_supported: string[];
    /** PKCE. */
    code_challenge_methods_supported: string[];
    /** How clients authenticate there. */
    token_endpoint_auth_methods_supported: string[];
    /** How clients authenticate there. */
    revocation_endpoint_auth_methods_supported: string[];
    /** How clients authenticate there. */
    introspection_endpoint_auth_methods_supported: string[];
    /** RFC 9207. */
    authorization_response_iss_parameter_supported: boolean;
    /** OpenID Connect Discovery. */
    subject_types_supported: string[];
    /** How ID tokens are signed. */
    id_token_signing_alg_values_supported: string[];
    /** What ID tokens say. */
    claims_supported: string[];
    /** OpenID Connect Discovery. */
    claim_types_supported: string[];
    /** OpenID Connect Discovery. */
    claims_parameter_supported: boolean;
    /** OpenID Connect Discovery. */
    request_parameter_supported: boolean;
    /** OpenID Connect Discovery. */
    request_uri_parameter_supported: boolean;
    /** What `prompt` may be. */
    prompt_values_supported: string[];
    /** What `display` may be. */
    display_values_supported: string[];
    /** Languages of the pages. */
    ui_locales_supported: string[];
    /** For developers. */
    service_documentation: string;
};
export type UserInfo = {
    /** The user's e-mail; a text of its own where the deployment wants `SUBJECT=opaque`. */
    sub: string;
};
export type RefreshToken = {
    /** Identifies the grant; it stays when its token is replaced. */
    id: string;
    /** The client that holds the token. */
    clientId: string;
    /** The client's name. */
    clientName: string;
    /** The tenant that it is for; empty outside of any. */
    tenant: string;
    /** What it is good for, separated by spaces. */
    scope: string;
    /** When the user gave it. In milliseconds since 1970. */
    createdAt: number;
    /** When it was used last. In milliseconds since 1970. */
    lastUsedAt: number;
};
export type Organization = {
    /** Its id. */
    id: string;
    /** Its name, for people. */
    name: string;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type Tenant = {
    /** Its id, as scopes name it. */
    id: string;
    /** The organization that it belongs to. */
    organization: string;
    /** Its name, for people. */
    name: string;
    /** Nobody gets tokens for it. */
    disabled: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
    /** What it may store; what is absent is not limited. */
    quota: {
        /** At most so many files. */
        files?: number;
        /** At most so many bytes. */
        bytes?: number;
    };
    /** How many requests it may make a minute. */
    plan: "small" | "standard" | "large";
};
export type TenantUsage = {
    /** The tenant. */
    tenant: string;
    /** Files that it stores. */
    files: number;
    /** Their bytes, without variants. */
    bytes: number;
    pending: {
        /** Files that wait for their commit. They count against the quota. */
        files: number;
        /** What their uploads take, where the tenant's bytes are limited. */
        bytes: number;
    };
    /** What it may store; what is absent is not limited. */
    quota: {
        /** At most so many files. */
        files?: number;
        /** At most so many bytes. */
        bytes?: number;
    };
};
export type User = {
    /** The account's address, normalised. */
    email: string;
    /** The name, for people. */
    name: string;
    /** Whether the user can sign in by password. */
    hasPassword: boolean;
    /** The user cannot sign in. */
    disabled: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type LinkedIdentity = {
    /** The user. */
    email: string;
    /** The identity provider's id. */
    provider: string;
    /** The account there: `sub` of its ID tokens. */
    subject: string;
    /** Who said that it is the user's. */
    linkedBy: "password" | "operator" | "verified_email";
    /** Since when. In milliseconds since 1970. */
    linkedAt: number;
};
export type TenantMember = {
    /** The tenant. */
    tenant: string;
    /** The user. */
    email: string;
    /** The user's roles there. */
    roles: string[];
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type OrganizationMember = {
    /** The organization. */
    organization: string;
    /** The user. */
    email: string;
    /** The user's roles there. */
    roles: string[];
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type Role = {
    /** Its name. */
    name: string;
    /** What it allows. */
    scopes: string[];
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type Client = {
    /** The client's id. */
    clientId: string;
    /** Owns topics and files. */
    name: string;
    /** Its parent tenant. */
    tenant: string;
    /** It has a secret. */
    confidential: boolean;
    /** The registered service that it is the client of. */
    service?: string;
    /** Where sign-ins may end. */
    redirectUris: string[];
    /** Where sign-outs may end. */
    postLogoutRedirectUris: string[];
    /** How it may get tokens. */
    grantTypes: ("client_credentials" | "authorization_code" | "refresh_token" | "implicit" | "password")[];
    /** What it may ask for; a `*` at the end stands for any ending. */
    scopes: string[];
    /** Codes need PKCE. */
    requirePkce: boolean;
    /** It gets no tokens. */
    disabled: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type WrittenClient = {
    /** The client's id. */
    clientId: string;
    /** Owns topics and files. */
    name: string;
    /** Its parent tenant. */
    tenant: string;
    /** It has a secret. */
    confidential: boolean;
    /** The registered service that it is the client of. */
    service?: string;
    /** Where sign-ins may end. */
    redirectUris: string[];
    /** Where sign-outs may end. */
    postLogoutRedirectUris: string[];
    /** How it may get tokens. */
    grantTypes: ("client_credentials" | "authorization_code" | "refresh_token" | "implicit" | "password")[];
    /** What it may ask for; a `*` at the end stands for any ending. */
    scopes: string[];
    /** Codes need PKCE. */
    requirePkce: boolean;
    /** It gets no tokens. */
    disabled: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
    /** The generated secret; shown this once. */
    clientSecret?: string;
};
export type NewClientSecret = {
    /** The client. */
    clientId: string;
    /** The new secret; shown this once. */
    clientSecret: string;
    /** Until when the secret before it works. In milliseconds since 1970. */
    previousExpiresAt: number;
};
export type Service = {
    /** Its name. */
    name: string;
    /** It is the platform's own; absent where it is not. */
    builtIn?: true;
    /** Where it really is; absent where it is built in. */
    sourceUrl?: string;
    /** Where the gateway has it. */
    proxyPath: string;
    /** Its scopes; a `*` at the end stands for any ending. */
    scopes: string[];
    /** Tenants need no subscription. */
    essential: boolean;
    /** The tenant that owns it. */
    tenant: string;
    /** Whether the gateway asks for a token. */
    access: "token" | "public";
    /** It gets the whole token of callers of other tenants too, which is good at the whole platform; else one for it alone. Absent where it is built in. */
    forwardAuthorization?: boolean;
    /** Its pages and cookies share the platform's origin with all others'; else they are kept apart by a sandbox and by their path. Absent where it is built in. */
    trusted?: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt?: number;
};
export type Package = {
    /** Its id. */
    id: string;
    /** Its version, for people. */
    version: string;
    /** It is the platform's own; absent where it is not. */
    builtIn?: true;
    /** Who provides it; absent where it is built in. */
    organization?: string;
    /** The services that it includes. */
    services: string[];
    /** When it was made. In milliseconds since 1970. */
    createdAt?: number;
};
export type Subscription = {
    /** The subscription's id, as its events have it. */
    id: string;
    /** The tenant. */
    tenant: string;
    /** The package. */
    "package": string;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type IdentityProvider = {
    /** What `plat_id_provider` names. */
    id: string;
    /** The provider's issuer. */
    issuer: string;
    /** The platform's client there. */
    clientId: string;
    /** Always `********`. */
    clientSecret: "********";
    /** What is asked for there. */
    scopes: string[];
    /** The tenants that a sign-in by it reaches; none: all of the platform. */
    tenants: string[];
    /** The domains of the addresses that it vouches for; none: all. */
    domains: string[];
    /** Who says, once, that an account there is a user's. */
    linking: "confirm" | "operator" | "verified_email";
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type Explanation = {
    /** Whether a token would be issued. */
    granted: boolean;
    /** What is granted, or the first cause of a refusal. */
    reason: string;
    /** Each thing that was looked at, in order. */
    checks: {
        /** What was looked at. */
        check: "request" | "client" | "user" | "grant" | "client_tenant" | "place" | "client_lists_scope" | "tenant_uses_service" | "role_holds_scope" | "user_authorized_scope";
        /** The scope, where it is about one. */
        scope?: string;
        /** Whether it is in order. */
        passed: boolean;
        /** What was found, and what to change. */
        detail: string;
    }[];
    /** Each scope as if it were asked for alone. */
    scopes: {
        /** A scope that was asked for. */
        scope: string;
        /** Whether it alone would be granted. */
        granted: boolean;
        /** Why. */
        reason: string;
    }[];
    /** What the token would have; empty where there is none. */
    effective: string[];
};
export type OperatedSubscription = {
    /** Identifies it. */
    id: string;
    /** Whose events it gets: `<owner>.<eventType>`. */
    topic: string;
    /** Whose it is. */
    client: string;
    /** Its name, one of the client's on the topic. */
    name: string;
    /** Where events go: scheme, host and port of the endpoint. */
    endpointOrigin: string;
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: it is there. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** By which right it was made. */
    right: "owner" | "scope";
    /** The client's own token that made it; null: it is from before that was kept. */
    made: {
        /** The token's tenant. */
        tenant: string;
        /** By which request. */
        requestId: string;
        /** The scope of the token that covered the topic; null: the owner needs none. */
        scope: string | null;
    } | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
};
export type SigningKey = {
    /** The key's id, as tokens name it. */
    kid: string;
    /** What it signs: access tokens, ID tokens. */
    alg: "ES256" | "RS256";
    /** `published` before its time, `verifies` after it, `gone` from `/jwks`. */
    state: "published" | "signs" | "verifies" | "gone";
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
    /** From when on it signs. In milliseconds since 1970. */
    signsFrom: number;
    /** Until when it is in `/jwks`; null: not known yet. In milliseconds since 1970. */
    publishedUntil: number | null;
};
export type SealKey = {
    /** As `SEAL_KEYS` names it. */
    id: string;
    /** `missing`: something is sealed under it, and `SEAL_KEYS` lacks it. */
    use: "seals" | "opens" | "missing";
    /** Secrets of identity providers under it; 1000 stands for that many or more. */
    identityProviders: number;
    /** Private halves of signing keys under it. */
    signingKeys: number;
    /** Credentials of push subscriptions under it. */
    pushSubscriptions: number;
    /** Nothing that lasts is sealed under it: it may be taken out of `SEAL_KEYS`, an hour after another one was put in front. */
    mayGo: boolean;
};
export type Comparison = {
    /** The comparison's id. */
    id: string;
    /** How far it is. */
    state: "running" | "done" | "repairing" | "repaired";
    /** When it was started. In milliseconds since 1970. */
    startedAt: number;
    /** When it was done; null: not yet. In milliseconds since 1970. */
    finishedAt: number | null;
    /** How much was looked at. */
    checked: {
        /** Rows of files. */
        files: number;
        /** Rows of variants. */
        variants: number;
        /** Objects of the bucket. */
        objects: number;
    };
    /** How much does not fit, by kind. */
    found: {
        /** Bytes that no row has. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
        /** Row and bytes differ in size. */
        sizeDiffers: number;
        /** Row and bytes differ in ETag. */
        etagDiffers: number;
    };
    /** How many findings are kept, the first ones. */
    keptFindings: number;
    /** When its repair was started; null: it was not. In milliseconds since 1970. */
    repairStartedAt: number | null;
    /** When that was done; null: not yet. In milliseconds since 1970. */
    repairedAt: number | null;
    /** How much was repaired, by kind. */
    repaired: {
        /** Bytes that no row has. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
    };
};
export type ComparisonReport = {
    /** The comparison's id. */
    id: string;
    /** How far it is. */
    state: "running" | "done" | "repairing" | "repaired";
    /** When it was started. In milliseconds since 1970. */
    startedAt: number;
    /** When it was done; null: not yet. In milliseconds since 1970. */
    finishedAt: number | null;
    /** How much was looked at. */
    checked: {
        /** Rows of files. */
        files: number;
        /** Rows of variants. */
        variants: number;
        /** Objects of the bucket. */
        objects: number;
    };
    /** How much does not fit, by kind. */
    found: {
        /** Bytes that no row has. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
        /** Row and bytes differ in size. */
        sizeDiffers: number;
        /** Row and bytes differ in ETag. */
        etagDiffers: number;
    };
    /** How many findings are kept, the first ones. */
    keptFindings: number;
    /** When its repair was started; null: it was not. In milliseconds since 1970. */
    repairStartedAt: number | null;
    /** When that was done; null: not yet. In milliseconds since 1970. */
    repairedAt: number | null;
    /** How much was repaired, by kind. */
    repaired: {
        /** Bytes that no row has. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
    };
    /** A page of what does not fit. */
    findings: {
        /** What does not fit. */
        kind: "orphanObject" | "missingBytes" | "missingVariant" | "sizeDiffers" | "etagDiffers";
        /** The object's key. */
        key: string;
        /** The file; null: no row has it. */
        fileId: string | null;
        /** Whose it is. */
        client: string | null;
        /** Whose it is. */
        tenant: string | null;
        /** What the row says; null: there is none. */
        row: {
            /** In bytes. */
            size: number | null;
            /** Identifies the bytes. */
            etag: string | null;
        } | null;
        /** What the bucket has; null: nothing. */
        "object": {
            /** In bytes. */
            size: number | null;
            /** Identifies the bytes. */
            etag: string | null;
        } | null;
        /** What its repair did; null: nothing yet. */
        outcome: "repaired" | "obsolete" | null;
    }[];
};
export type AuditRow = {
    /** When. In milliseconds since 1970. */
    at: number;
    /** By which request. */
    requestId: string;
    /** Who: a client, or `user <address>`; empty where nobody is known. */
    actor: string;
    /** What was done. */
    action: string;
    /** To what. */
    subject: string;
    /** What came of it. */
    outcome: "done" | "refused";
    /** Exactly why; where there is something to say. `created`: there was none before. */
    reason?: string;
    /** What a change changed. A change that changes nothing has no row. */
    changes?: {
        /** The field; alone where it is a secret. */
        field: string;
        /** What it was; absent where there was nothing. */
        "from"?: unknown;
        /** What it is; absent where there is nothing. */
        to?: unknown;
        /** What came to a list: 40 at most, then `…and more`. */
        added?: string[];
        /** What went from a list, alike. */
        removed?: string[];
    }[];
};
export type AuditCopy = {
    /** Counts from 1 on, without a gap. */
    "number": number;
    /** Its key in the bucket. */
    name: string;
    /** How many rows it has. */
    rows: number;
    /** The number of its first row. */
    firstSeq: number;
    /** The number of its last row. */
    lastSeq: number;
    /** The hash of the last line of the copy before; zeros in front of the first. */
    previous: string;
    /** The hash of its own last line, as the database has it. */
    head: string;
    /** When it was written. In milliseconds since 1970. */
    writtenAt: number;
};
export type AuditCopyLines = {
    /** Counts from 1 on, without a gap. */
    "number": number;
    /** Its key in the bucket. */
    name: string;
    /** How many rows it has. */
    rows: number;
    /** The number of its first row. */
    firstSeq: number;
    /** The number of its last row. */
    lastSeq: number;
    /** The hash of the last line of the copy before; zeros in front of the first. */
    previous: string;
    /** The hash of its own last line, as the database has it. */
    head: string;
    /** When it was written. In milliseconds since 1970. */
    writtenAt: number;
    /** Its lines, each with its hash at the end. */
    lines: string[];
};
export type Topic = {
    /** The name of the client that owns the topic and alone publishes to it. */
    topicOwnerClient: string;
    /** What kind of event the topic is of. */
    eventType: string;
    /** What the owner says of it; may be empty. */
    description: string;
    /** When the topic was created. In milliseconds since 1970. */
    createdAt: number;
    /** How many logs the topic has: events of one tenant stay in order, those of one shard all. */
    shards: number;
    /** `deleting` until its events, cursors and subscriptions are gone. */
    state: "active" | "deleting";
    /** The topic's own address. */
    href: string;
};
export type TopicStatus = {
    /** The name of the client that owns the topic and alone publishes to it. */
    topicOwnerClient: string;
    /** What kind of event the topic is of. */
    eventType: string;
    /** What the owner says of it; may be empty. */
    description: string;
    /** When the topic was created. In milliseconds since 1970. */
    createdAt: number;
    /** How many logs the topic has: events of one tenant stay in order, those of one shard all. */
    shards: number;
    /** `deleting` until its events, cursors and subscriptions are gone. */
    state: "active" | "deleting";
    /** The topic's own address. */
    href: string;
    /** How many events are stored; null for who is shown its own tenant's alone. */
    storedEvents: number | null;
    /** When the oldest of them was published; null: there is none. In milliseconds since 1970. */
    oldestEventAt: number | null;
    /** When the newest of them was published; null: there is none. In milliseconds since 1970. */
    newestEventAt: number | null;
    /** How many of them the caller has not committed; null as above. */
    lag: number | null;
};
export type NewEvent = {
    /** The event's text, at most 256 KiB of UTF-8. */
    payload: string;
    /** Names and texts beside the payload, at most 16 KiB. */
    metadata?: {
        [key: string]: string;
    };
    /** The tenant that the event is about; the token's where absent. */
    tenant?: string;
};
export type PublishedIds = {
    /** The ids of the events, in the order of the request. */
    ids: string[];
};
export type Event = {
    /** Identifies the event in its topic. */
    id: string;
    /** When it was published. In milliseconds since 1970. */
    createdAt: number;
    /** The tenant that it is about. */
    tenant: string;
    /** The client that published it, the topic's owner. */
    sourceClient: string;
    /** The topic's event type. */
    eventType: string;
    /** The text, as it was published. */
    payload: string;
    /** Names and texts beside the payload, where there are any. */
    metadata?: {
        [key: string]: string;
    };
};
export type Batch = {
    /** The next events, in order. */
    events: Event[];
    /** Commits, extends or releases the batch; absent with `autoCommit`. */
    token?: string;
};
export type Look = {
    /** Stored events, in the order of their times. */
    events: Event[];
    /** The `after` of the next look; null: this was the end. */
    next: string | null;
};
export type SubscriptionName = {
    /** The subscription's name, one of the calling client's on this topic. */
    name: string;
    /** The subscription's own address. */
    href: string;
};
export type NewPushSubscription = {
    /** The subscription's name, one of the calling client's on this topic. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** Where events are sent to by `POST`. */
        endpoint: string;
        /** How the platform proves to the endpoint who it is. */
        basicAuth: {
            /** Sent as HTTP Basic. */
            username: string;
            /** Always `********`. */
            password: "********";
        };
        /** The endpoint is asked before it gets its first event; absent: it is not. */
        handshake?: boolean;
    };
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: it is there. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
    /** Verifies `webhook-signature`; shown this once. */
    signingSecret: string;
};
export type PushSubscription = {
    /** The subscription's name, one of the calling client's on this topic. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** Where events are sent to by `POST`. */
        endpoint: string;
        /** How the platform proves to the endpoint who it is. */
        basicAuth: {
            /** Sent as HTTP Basic. */
            username: string;
            /** Always `********`. */
            password: "********";
        };
        /** The endpoint is asked before it gets its first event; absent: it is not. */
        handshake?: boolean;
    };
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: it is there. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
    /** How many events wait to be delivered; null: not known now. */
    lag: number | null;
    /** How many were given up; null: not known now. */
    deadLetters: number | null;
    /** How many retention removed before they were taken up; null: not known now. */
    eventsLost: number | null;
    /** Until when the endpoint is left alone; null: it is not. In milliseconds since 1970. */
    pausedUntil: number | null;
    /** How far asking the endpoint is; null: not known now. While `unverified` and `failed`. */
    verification?: {
        /** How often it was asked. */
        attempts: number;
        /** Why the last answer was none: as of deliveries, or 2xx without the challenge; null: there was none yet. */
        lastError: "status" | "timeout" | "unreachable" | "redirect" | "refused" | "no_challenge" | null;
        /** When it is asked next; null: not any more. In milliseconds since 1970. */
        nextAttemptAt: number | null;
    } | null;
};
export type Delivery = {
    /** The event. */
    eventId: string;
    /** `dead`: every attempt failed; it can be delivered again. */
    state: "pending" | "delivered" | "dead";
    /** When it is tried next; null: not at all. In milliseconds since 1970. */
    nextAttemptAt: number | null;
    /** How often it was tried. */
    attemptCount: number;
    /** The last 20 attempts. */
    attempts: {
        /** When it was tried. In milliseconds since 1970. */
        at: number;
        /** How long the endpoint took. */
        durationMs: number;
        /** The status of its answer; null: none came. */
        status: number | null;
        /** Why it failed: not 2xx, none in 15 s, no connection, 3xx, or an address that is not called; null: it did not. */
        error: "status" | "timeout" | "unreachable" | "redirect" | "refused" | null;
    }[];
};
export type TestDelivery = {
    /** Whether the endpoint took it. */
    delivered: boolean;
    /** How long the endpoint took. */
    durationMs: number;
    /** The status of its answer; null: none came. */
    status: number | null;
    /** Why it failed: not 2xx, none in 15 s, no connection, 3xx, or an address that is not called; null: it did not. */
    error: "status" | "timeout" | "unreachable" | "redirect" | "refused" | null;
};
export type Subscriber = {
    /** Identifies the subscription among those of the topic. */
    id: string;
    /** Whose it is. */
    client: string;
    /** Its name, one of that client's. */
    name: string;
    /** Where events go: scheme, host and port of the endpoint. */
    endpointOrigin: string;
    /** By which right it was made. */
    right: "owner" | "scope";
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: it is there. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
};
export type NewFile = {
    /** The file's id: 24 hex digits. */
    id: string;
    /** Takes the bytes by `PUT` with the declared content type, for one hour. */
    uploadLink: string;
    /** Commits them by `POST`. */
    commitLink: string;
};
export type Variant = {
    /** `clip` fits into the size, `crop` fills it and cuts around the centre. */
    "type": "clip" | "crop";
    /** As it was asked for, for example `300x200`. */
    size: string;
    /** In pixels; null: not made yet. */
    width: number | null;
    /** In pixels; null: not made yet. */
    height: number | null;
    /** Its length; null: not made yet. */
    bytes: number | null;
    /** Identifies its bytes; null: not made yet. */
    etag: string | null;
    /** `pending` until it is made. */
    state: "pending" | "ready" | "failed";
    /** Why it failed. */
    reason?: string;
    /** Its content, of public files that are ready. */
    link?: string;
};
export type File = {
    /** The file's id. */
    id: string;
    /** As it was declared. */
    "Content-Type": string;
    /** Its length in bytes. */
    size: number;
    /** Identifies its bytes. */
    etag: string;
    /** The name that its upload gave; null: none. */
    fileName: string | null;
    /** The tenant that it belongs to. */
    tenant: string;
    /** When its upload link was made. In milliseconds since 1970. */
    createdAt: number;
    /** When it was committed. In milliseconds since 1970. */
    committedAt: number;
    /** Any JSON object, kept as it was sent. */
    metadata: {
        [key: string]: unknown;
    };
    /** Its variants. */
    variants: Variant[];
    /** Its content, of public files. */
    link?: string;
};
export type FileCount = {
    /** How many files. */
    files: number;
    /** Their bytes, without variants. */
    bytes: number;
};
export type CommittedFile = {
    /** The file's id. */
    id: string;
    /** The file's own address. */
    link: string;
};
export type FileLink = {
    /** The content, for 15 minutes. */
    link: string;
};
export type BulkCount = {
    /** Images of this page. */
    files: number;
    /** Variants of them. */
    transformations: number;
    /** Those of the images that have no room for so many variants, and get none; absent: none. */
    skipped?: number;
};
export type Erasure = {
    /** The deletion's id. */
    id: string;
    /** What was asked to be deleted. */
    kind: "file" | "query" | "all";
    /** The tenant of the files; of one that was never committed, that of who deleted it. */
    tenant: string;
    /** Of which files. */
    visibility: "private" | "public";
    /** `deleted`: every byte was; `verified`: a later listing has shown that none is left. */
    state: "deleting" | "deleted" | "verified";
    /** When it was asked for. Nobody reads the files from then on. In milliseconds since 1970. */
    requestedAt: number;
    /** When the last bytes were deleted; null: not yet. In milliseconds since 1970. */
    deletedAt: number | null;
    /** When it was verified; null: not yet. In milliseconds since 1970. */
    verifiedAt: number | null;
    /** Counts of files. */
    files: {
        /** Files to delete. */
        requested: number;
        /** Those whose bytes are deleted. */
        deleted: number;
        /** Those that a listing has shown to be gone. */
        verified: number;
    };
    /** Bytes, without variants. */
    bytes: {
        /** To delete. */
        requested: number;
        /** Deleted. */
        deleted: number;
    };
    /** Objects that were written meanwhile, and deleted too. */
    lateObjects: number;
};
/**
 * Check that the Worker answers
 */
export function getHealth(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Health;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/health", {
        ...opts
    });
}
/**
 * Explain each error type and what to do about it
 */
export function getErrorReference({ request }: {
    request?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/docs/errors${QS.query(QS.explode({
        request
    }))}`, {
        ...opts
    });
}
/**
 * Fetch the stylesheet of the pages, whose name is a digest of its content
 */
export function getStylesheet(file: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/docs/assets/${encodeURIComponent(file)}`, {
        ...opts
    });
}
/**
 * Read the reference, for people
 */
export function getReference(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/docs", {
        ...opts
    });
}
/**
 * Read the reference, for machines: this document
 */
export function getInterfaceDocument({ ifNoneMatch }: {
    ifNoneMatch?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 304;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/openapi.json", {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "If-None-Match": ifNoneMatch
        })
    });
}
/**
 * Get an access token
 */
export function getToken(body: {
    /** How the caller proves what it may have. The client must be registered for it. */
    grant_type: "client_credentials" | "authorization_code" | "refresh_token" | "password";
    /** Scopes, separated by spaces. None, or the tenant's alone: every scope that the client lists and that is grantable now. With a code or a refresh token it narrows what was authorized. */
    scope?: string;
    /** `authorization_code`: the code. It lives 60 s and works once. */
    code?: string;
    /** `authorization_code`: the one of the authorization request. */
    redirect_uri?: string;
    /** `authorization_code`: what the `code_challenge` was made of (PKCE). */
    code_verifier?: string;
    /** `refresh_token`: the token. A client without a secret gets a new one at each use. */
    refresh_token?: string;
    /** `password`: the user's e-mail. */
    username?: string;
    /** `password`: the user's password. */
    password?: string;
    /** `password`: the directory of the user. */
    plat_id_provider?: "legacy_idp";
    /** What the caller calls its session: for the log. The header of the same name wins. */
    "plat-session-id"?: string;
    /** The client, where it does not authenticate by HTTP Basic. */
    client_id?: string;
    /** Its secret, where it does not authenticate by HTTP Basic. */
    client_secret?: string;
}, { platSessionId }: {
    platSessionId?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TokenResponse;
    } | {
        status: 400;
        data: OAuthError;
    } | {
        status: 401;
        data: OAuthError;
    } | {
        status: 413;
        data: OAuthError;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 415;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>("/oauth2/v1/token", oazapfts.form({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "plat-session-id": platSessionId
        })
    }));
}
/**
 * What an access token is good for
 */
export function getTokenInfo(accessToken: string, { details }: {
    details?: boolean;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TokenInfo;
    } | {
        status: 400;
        data: OAuthError;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>(`/oauth2/v1/tokeninfo${QS.query(QS.explode({
        access_token: accessToken,
        details
    }))}`, {
        ...opts
    });
}
/**
 * Revoke tokens
 */
export function revokeTokens(body: {
    /** One token, or several with commas between them. */
    token: string;
    /** Accepted, and not needed. */
    token_type_hint?: string;
    /** The client, where it does not authenticate by HTTP Basic. */
    client_id?: string;
    /** Its secret, where it does not authenticate by HTTP Basic. */
    client_secret?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Empty;
    } | {
        status: 400;
        data: OAuthError;
    } | {
        status: 401;
        data: OAuthError;
    } | {
        status: 413;
        data: OAuthError;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 415;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>("/oauth2/v1/revoke", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * What a token is good for, for clients
 */
export function introspectToken(body: {
    /** An access token or a refresh token. */
    token: string;
    /** Accepted, and not needed. */
    token_type_hint?: string;
    /** The client, where it does not authenticate by HTTP Basic. */
    client_id?: string;
    /** Its secret, where it does not authenticate by HTTP Basic. */
    client_secret?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Introspection;
    } | {
        status: 400;
        data: OAuthError;
    } | {
        status: 401;
        data: OAuthError;
    } | {
        status: 413;
        data: OAuthError;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 415;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>("/oauth2/v1/introspect", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Public keys that verify tokens
 */
export function getKeys(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: JwkSet;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>("/oauth2/v1/jwks", {
        ...opts
    });
}
/**
 * Metadata (OpenID Connect Discovery)
 */
export function getOpenIdConfiguration(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ServerMetadata;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>("/oauth2/v1/.well-known/openid-configuration", {
        ...opts
    });
}
/**
 * The user that an access token was issued for
 */
export function getUserInfo(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: UserInfo;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/oauth2/v1/userinfo", {
        ...opts
    });
}
/**
 * The user that an access token was issued for
 */
export function postUserInfo(body?: {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: UserInfo;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/oauth2/v1/userinfo", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the refresh tokens that the client has of the user, newest first
 */
export function listRefreshTokens({ clientId, pageNumber, pageSize, cursor }: {
    clientId?: string;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: RefreshToken[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/oauth2/v1/refreshtokens${QS.query(QS.explode({
        clientId,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Delete all refresh tokens that the client has of the user
 */
export function deleteRefreshTokens({ clientId }: {
    clientId?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/oauth2/v1/refreshtokens${QS.query(QS.explode({
        clientId
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Delete one of the refresh tokens that the client has of the user
 */
export function deleteRefreshToken(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/oauth2/v1/refreshtokens/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Start a sign-in for a client
 */
export function authorize(responseType: "code" | "token" | "id_token token" | "token id_token", clientId: string, { redirectUri, scope, state, responseMode, nonce, codeChallenge, codeChallengeMethod, prompt, maxAge, loginHint, idTokenHint, uiLocales, display, platIdProvider, platSessionId, platSessionIdHeader }: {
    redirectUri?: string;
    scope?: string;
    state?: string;
    responseMode?: string;
    nonce?: string;
    codeChallenge?: string;
    codeChallengeMethod?: "S256" | "plain";
    prompt?: string;
    maxAge?: number;
    loginHint?: string;
    idTokenHint?: string;
    uiLocales?: string;
    display?: "page" | "popup";
    platIdProvider?: string;
    platSessionId?: string;
    platSessionIdHeader?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/oauth2/v1/authorize${QS.query(QS.explode({
        response_type: responseType,
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        state,
        response_mode: responseMode,
        nonce,
        code_challenge: codeChallenge,
        code_challenge_method: codeChallengeMethod,
        prompt,
        max_age: maxAge,
        login_hint: loginHint,
        id_token_hint: idTokenHint,
        ui_locales: uiLocales,
        display,
        plat_id_provider: platIdProvider,
        "plat-session-id": platSessionId
    }))}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "plat-session-id": platSessionIdHeader
        })
    });
}
/**
 * Start a sign-in for a client, with the parameters in a form
 */
export function postAuthorize(body: {
    /** What the client wants back. */
    response_type: "code" | "token" | "id_token token" | "token id_token";
    /** The client. */
    client_id: string;
    /** Where the answer goes: exactly one that is registered. May be left out where there is one. */
    redirect_uri?: string;
    /** Scopes, separated by spaces. None, or the tenant's alone: every scope that the client lists and that is grantable now. `openid`: an ID token too. */
    scope?: string;
    /** Comes back unchanged; binds the answer to the browser. At most 4096 characters. */
    state?: string;
    /** `query` for codes, `fragment` for tokens; nothing else is possible. */
    response_mode?: string;
    /** Stands in the ID token; needed for `id_token token`. */
    nonce?: string;
    /** PKCE (RFC 7636); needed by clients without a secret. */
    code_challenge?: string;
    /** How the challenge was made of the verifier; `plain` where absent. */
    code_challenge_method?: "S256" | "plain";
    /** `none`: ask nobody anything. `login`: let the user sign in anew. `select_account`: show the page to a user who is signed in and gets nothing here. `consent`: ask the user again for what they have to allow a client of a tenant that they are no member of. */
    prompt?: string;
    /** The user signed in at most so many seconds ago. */
    max_age?: number;
    /** Whom the client expects: an e-mail. */
    login_hint?: string;
    /** An ID token of this client and of the expected user: nobody else gets an answer. While its session and grant live, no prompt; what comes of it has no refresh token, no scope beyond its grant's, and ends with it. */
    id_token_hint?: string;
    /** Languages of the page, the preferred one first (BCP 47). */
    ui_locales?: string;
    /** `popup`: a page for a small window. */
    display?: "page" | "popup";
    /** Who knows the user: `default_idp`, `legacy_idp` (one directory), or a provider that an operator registered. */
    plat_id_provider?: string;
    /** What the caller calls its session: for the log. The tokens carry an id of the platform's own. */
    "plat-session-id"?: string;
}, { platSessionId }: {
    platSessionId?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/authorize", oazapfts.form({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "plat-session-id": platSessionId
        })
    }));
}
/**
 * The form of the sign-in page
 */
export function signIn(body: {
    /** The authorization request, as a query. */
    request: string;
    /** Binds the form to the browser. */
    csrf?: string;
    /** Who signs in. */
    email?: string;
    /** The password. */
    password?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/sign-in", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * The form of the page on which a person allows a client what it asks for
 */
export function consent(body: {
    /** The authorization request, as a query. */
    request: string;
    /** What the person decided. */
    decision: "allow" | "deny";
    /** What was shown. */
    asked?: string;
    /** Binds the form to the sign-in and to what was shown. */
    csrf?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/consent", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Where browsers come back to from an identity provider
 */
export function federationCallback(providerId: string, { code, state, iss, error, errorDescription }: {
    code?: string;
    state?: string;
    iss?: string;
    error?: string;
    errorDescription?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/oauth2/v1/callback/${encodeURIComponent(providerId)}${QS.query(QS.explode({
        code,
        state,
        iss,
        error,
        error_description: errorDescription
    }))}`, {
        ...opts
    });
}
/**
 * The form of the page that links an account at an identity provider
 */
export function linkIdentity(body: {
    /** Who signs in by the provider, and for which request. */
    vouched: string;
    /** The password here. */
    password?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/link-identity", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Sign the browser out
 */
export function endSession({ clientId, idTokenHint, postLogoutRedirectUri, state, uiLocales }: {
    clientId?: string;
    idTokenHint?: string;
    postLogoutRedirectUri?: string;
    state?: string;
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/oauth2/v1/end_session${QS.query(QS.explode({
        client_id: clientId,
        id_token_hint: idTokenHint,
        post_logout_redirect_uri: postLogoutRedirectUri,
        state,
        ui_locales: uiLocales
    }))}`, {
        ...opts
    });
}
/**
 * Sign the browser out, with the parameters in a form
 */
export function postEndSession(body?: {
    /** The client; needed without an `id_token_hint`. */
    client_id?: string;
    /** An ID token of the client, an expired one too. */
    id_token_hint?: string;
    /** Where the browser goes: one that is registered at the client. */
    post_logout_redirect_uri?: string;
    /** Comes back unchanged. */
    state?: string;
    /** Languages of the page (BCP 47). */
    ui_locales?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/end_session", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * The page of a person who signs in
 */
export function getAccount({ uiLocales, platIdProvider }: {
    uiLocales?: string;
    platIdProvider?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account${QS.query(QS.explode({
        ui_locales: uiLocales,
        plat_id_provider: platIdProvider
    }))}`, {
        ...opts
    });
}
/**
 * Sign in for the page
 */
export function signInToAccount(body?: {
    /** Binds the form to the browser. */
    csrf?: string;
    /** Who signs in. */
    email?: string;
    /** The password. */
    password?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/sign-in${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Sign this browser out
 */
export function signOutOfAccount(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/sign-out${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Take an application's lasting access away
 */
export function removeAccess(body?: {
    /** The application's client. */
    client_id?: string;
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/remove-access${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Change the password
 */
export function changePassword(body?: {
    /** The old password. */
    password?: string;
    /** The new one, 8 to 256 characters: none that is guessed first, nor of the address. */
    new_password?: string;
    /** The new one again. */
    repeated_password?: string;
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/password${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * End every session, grant and token of the user
 */
export function endAllOfAccount(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/end-all${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Metadata (RFC 8414)
 */
export function getServerMetadata(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ServerMetadata;
    } | {
        status: 414;
        data: OAuthError;
    } | {
        status: 429;
        data: OAuthError;
    } | {
        status: 500;
        data: OAuthError;
    } | {
        status: 503;
        data: OAuthError;
    }>("/.well-known/oauth-authorization-server/oauth2/v1", {
        ...opts
    });
}
/**
 * List every organization
 */
export function listOrganizations({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Organization[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the organization
 */
export function putOrganization(id: string, body: {
    /** Its name, for people. */
    name: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Organization;
    } | {
        status: 201;
        data: Organization;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the organization
 */
export function getOrganization(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Organization;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Remove the organization
 */
export function deleteOrganization(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every tenant
 */
export function listTenants({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Tenant[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the tenant
 */
export function putTenant(id: string, body: {
    /** The organization that it belongs to. */
    organization: string;
    /** Its name, for people. */
    name: string;
    /** Nobody gets tokens for it. Left out, it stays as it is; false for a new one. */
    disabled?: boolean;
    /** What it may store; what is absent in it is not limited. Left out, it stays as it is; `{}` takes it away. */
    quota?: {
        /** At most so many files. */
        files?: number;
        /** At most so many bytes. */
        bytes?: number;
    };
    /** How many requests it may make a minute. */
    plan?: "small" | "standard" | "large";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Tenant;
    } | {
        status: 201;
        data: Tenant;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the tenant
 */
export function getTenant(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Tenant;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Remove the tenant
 */
export function deleteTenant(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Show what the tenant stores, and its quota
 */
export function getTenantUsage(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantUsage;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/usage`, {
        ...opts
    });
}
/**
 * List every user
 */
export function listUsers({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: User[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the user
 */
export function putUser(email: string, body: {
    /** For people; the address where absent. */
    name?: string;
    /** 8 to 256 characters; left out, what is there stays. */
    password?: string;
    /** The user cannot sign in. Left out, it stays as it is; false for a new one. */
    disabled?: boolean;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: User;
    } | {
        status: 201;
        data: User;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the user
 */
export function getUser(email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: User;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}`, {
        ...opts
    });
}
/**
 * Remove the user
 */
export function deleteUser(email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * End the block of the user's account and forget its failed sign-ins
 */
export function unlockUser(email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}/unlock`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List every linked identity
 */
export function listLinkedIdentities(email: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: LinkedIdentity[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}/identities${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the linked identity
 */
export function putLinkedIdentity(email: string, provider: string, body: {
    /** The account there: `sub` of its ID tokens. */
    subject: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: LinkedIdentity;
    } | {
        status: 201;
        data: LinkedIdentity;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}/identities/${encodeURIComponent(provider)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the linked identity
 */
export function getLinkedIdentity(email: string, provider: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: LinkedIdentity;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}/identities/${encodeURIComponent(provider)}`, {
        ...opts
    });
}
/**
 * Remove the linked identity
 */
export function deleteLinkedIdentity(email: string, provider: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}/identities/${encodeURIComponent(provider)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every tenant member
 */
export function listTenantMembers(id: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantMember[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/members${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the tenant member
 */
export function putTenantMember(id: string, email: string, body: {
    /** Names of roles; what they contain is what the user may have. */
    roles: string[];
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantMember;
    } | {
        status: 201;
        data: TenantMember;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/members/${encodeURIComponent(email)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the tenant member
 */
export function getTenantMember(id: string, email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantMember;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/members/${encodeURIComponent(email)}`, {
        ...opts
    });
}
/**
 * Remove the tenant member
 */
export function deleteTenantMember(id: string, email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/members/${encodeURIComponent(email)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every organization member
 */
export function listOrganizationMembers(id: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OrganizationMember[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/members${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the organization member
 */
export function putOrganizationMember(id: string, email: string, body: {
    /** Names of roles; what they contain is what the user may have. */
    roles: string[];
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OrganizationMember;
    } | {
        status: 201;
        data: OrganizationMember;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/members/${encodeURIComponent(email)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the organization member
 */
export function getOrganizationMember(id: string, email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OrganizationMember;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/members/${encodeURIComponent(email)}`, {
        ...opts
    });
}
/**
 * Remove the organization member
 */
export function deleteOrganizationMember(id: string, email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/members/${encodeURIComponent(email)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every role
 */
export function listRoles({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Role[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/roles${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the role
 */
export function putRole(name: string, body: {
    /** What it allows. */
    scopes: string[];
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Role;
    } | {
        status: 201;
        data: Role;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/roles/${encodeURIComponent(name)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the role
 */
export function getRole(name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Role;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/roles/${encodeURIComponent(name)}`, {
        ...opts
    });
}
/**
 * Remove the role
 */
export function deleteRole(name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/roles/${encodeURIComponent(name)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every client
 */
export function listClients({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Client[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/clients${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the client
 */
export function putClient(clientId: string, body: {
    /** Owns topics and files, `<project>.<app>`; the id where absent. No other client has it. */
    name?: string;
    /** Its parent tenant. */
    tenant: string;
    /** It has a secret. */
    confidential: boolean;
    /** The registered service that it is the client of. */
    service?: string;
    /** Where sign-ins may end: https, http on a loopback host, or a private-use scheme; at most 50. */
    redirectUris?: string[];
    /** Where sign-outs may end, alike. */
    postLogoutRedirectUris?: string[];
    /** How it may get tokens. */
    grantTypes: ("client_credentials" | "authorization_code" | "refresh_token" | "implicit" | "password")[];
    /** What it may ask for; a `*` at the end stands for any ending. */
    scopes: string[];
    /** Codes need PKCE. Without a secret they always do. */
    requirePkce?: boolean;
    /** 32 to 256 visible ASCII characters; left out, what is there stays, or one is generated. */
    clientSecret?: string;
    /** It gets no tokens. Left out, it stays as it is; false for a new one. */
    disabled?: boolean;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WrittenClient;
    } | {
        status: 201;
        data: WrittenClient;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the client
 */
export function getClient(clientId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Client;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}`, {
        ...opts
    });
}
/**
 * Remove the client
 */
export function deleteClient(clientId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Give the client a new secret; the old one works for 24 h
 */
export function makeClientSecret(clientId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: NewClientSecret;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}/secret`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List every service
 */
export function listServices({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Service[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/services${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the service
 */
export function putService(name: string, body: {
    /** Where it really is: https, a public host, no query. */
    sourceUrl: string;
    /** Where the gateway has it; none of the platform's own addresses. */
    proxyPath: string;
    /** Its scopes; a `*` at the end stands for any ending. None of the platform's own. */
    scopes: string[];
    /** Tenants need no subscription. */
    essential?: boolean;
    /** The tenant that owns it. */
    tenant: string;
    /** `token`: the gateway asks for a valid token. `public`: an absent one is fine. */
    access: "token" | "public";
    /** It gets the whole token of callers of other tenants too, which is good at the whole platform; else one for it alone. */
    forwardAuthorization?: boolean;
    /** Its pages and cookies share the platform's origin with all others'; else they are kept apart by a sandbox and by their path. */
    trusted?: boolean;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Service;
    } | {
        status: 201;
        data: Service;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/services/${encodeURIComponent(name)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the service
 */
export function getService(name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Service;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/services/${encodeURIComponent(name)}`, {
        ...opts
    });
}
/**
 * Remove the service
 */
export function deleteService(name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/services/${encodeURIComponent(name)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every package
 */
export function listPackages({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Package[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/packages${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the package
 */
export function putPackage(id: string, body: {
    /** Its version, for people and events. */
    version: string;
    /** Who provides it. */
    organization: string;
    /** The services that it includes. */
    services: string[];
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Package;
    } | {
        status: 201;
        data: Package;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/packages/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the package
 */
export function getPackage(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Package;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/packages/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Remove the package
 */
export function deletePackage(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/packages/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every subscription
 */
export function listSubscriptions(id: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Subscription[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/subscriptions${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the subscription
 */
export function putSubscription(id: string, packageId: string, body?: {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Subscription;
    } | {
        status: 201;
        data: Subscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/subscriptions/${encodeURIComponent(packageId)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the subscription
 */
export function getSubscription(id: string, packageId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Subscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/subscriptions/${encodeURIComponent(packageId)}`, {
        ...opts
    });
}
/**
 * Remove the subscription
 */
export function deleteSubscription(id: string, packageId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/subscriptions/${encodeURIComponent(packageId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every identity provider
 */
export function listIdentityProviders({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: IdentityProvider[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/identity-providers${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the identity provider
 */
export function putIdentityProvider(id: string, body: {
    /** The issuer of an OpenID provider with discovery. */
    issuer: string;
    /** The platform's client there. */
    clientId: string;
    /** Its secret there, kept encrypted; left out, or `********`, what is there stays with its issuer. */
    clientSecret?: string;
    /** What is asked for there; `openid` among it. */
    scopes?: string[];
    /** The tenants that a sign-in by it reaches; left out, what is there stays; `[]`: all of the platform. */
    tenants?: string[];
    /** The domains of the addresses that it vouches for, those below them not; left out, what is there stays. */
    domains?: string[];
    /** Who says at the first sign-in that an account there is a user's: the user by the password here (`confirm`), an operator before, or the provider by the address that it verified, which needs `domains`. Left out, what is there stays. */
    linking?: "confirm" | "operator" | "verified_email";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: IdentityProvider;
    } | {
        status: 201;
        data: IdentityProvider;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/identity-providers/${encodeURIComponent(id)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the identity provider
 */
export function getIdentityProvider(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: IdentityProvider;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/identity-providers/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Remove the identity provider
 */
export function deleteIdentityProvider(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/identity-providers/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Void every token that the client got until now, and end the grants that users gave it
 */
export function revokeClient(clientId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}/revoke`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Void every token that was issued for the user until now, end the user's grants, sign the user out
 */
export function revokeUser(email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/users/${encodeURIComponent(email)}/revoke`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Void every token that was issued for the tenant until now, and end its grants
 */
export function revokeTenant(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/revoke`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Void every token of the session, end its grants, sign its browser out
 */
export function revokeSession(sessionId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/sessions/${encodeURIComponent(sessionId)}/revoke`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Say whether a client or a user gets scopes, and exactly why
 */
export function explain({ client, tenant, user, scope, grant }: {
    client?: string;
    tenant?: string;
    user?: string;
    scope?: string;
    grant?: "client_credentials" | "authorization_code" | "implicit" | "password";
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Explanation;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/explain${QS.query(QS.explode({
        client,
        tenant,
        user,
        scope,
        grant
    }))}`, {
        ...opts
    });
}
/**
 * List push subscriptions of all clients; by client, topic, and whether it is known who made them
 */
export function listOperatedSubscriptions({ client, topic, maker, pageNumber, pageSize, cursor }: {
    client?: string;
    topic?: string;
    maker?: "unknown";
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedSubscription[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/push-subscriptions${QS.query(QS.explode({
        client,
        topic,
        maker,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Show a push subscription
 */
export function getOperatedSubscription(subscriptionId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}`, {
        ...opts
    });
}
/**
 * Remove a push subscription; nothing is sent to its endpoint any more
 */
export function removeOperatedSubscription(subscriptionId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every signing key, the newest first
 */
export function listSigningKeys({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SigningKey[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/signing-keys${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Sign with new keys from now on; the old ones verify while their tokens live
 */
export function rotateSigningKeys(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: SigningKey[];
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/admin/v1/signing-keys", {
        ...opts,
        method: "POST"
    });
}
/**
 * What is sealed under which key of SEAL_KEYS, and which one may go
 */
export function listSealKeys(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SealKey[];
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/admin/v1/seal-keys", {
        ...opts
    });
}
/**
 * List the comparisons of R2 with D1, the newest first
 */
export function listComparisons({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Comparison[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/media/consistency${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Start a comparison of R2 with D1; while one runs, the answer is that one
 */
export function startComparison(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: Comparison;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/admin/v1/media/consistency", {
        ...opts,
        method: "POST"
    });
}
/**
 * A comparison of R2 with D1: its counts, and what it found, in pages
 */
export function getComparison(id: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ComparisonReport;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/media/consistency/${encodeURIComponent(id)}${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Repair what a comparison found
 */
export function repairComparison(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: Comparison;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/media/consistency/${encodeURIComponent(id)}/repair`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Who did what, newest first; by request id, action, actor, outcome, time, and the beginning of the subject
 */
export function listAudit({ requestId, subject, actor, action, outcome, since, until, pageNumber, pageSize, cursor }: {
    requestId?: string;
    subject?: string;
    actor?: string;
    action?: string;
    outcome?: "done" | "refused";
    since?: number;
    until?: number;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: AuditRow[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/audit${QS.query(QS.explode({
        requestId,
        subject,
        actor,
        action,
        outcome,
        since,
        until,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * List every copy of the audit log in the bucket, the oldest first
 */
export function listAuditCopies({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: AuditCopy[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/audit/copies${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Show a copy of the audit log with its lines, as they are in the bucket
 */
export function getAuditCopy($number: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: AuditCopyLines;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/admin/v1/audit/copies/${encodeURIComponent($number)}`, {
        ...opts
    });
}
/**
 * Create a topic; the caller becomes its owner
 */
export function createTopic(body: {
    /** What kind of event the topic is of. */
    eventType: string;
    /** For people. */
    description?: string;
    /** How many logs the topic has, 1 where absent. It stays. */
    shards?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/pubsub/v1/topics", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the topics that the caller owns or may consume
 */
export function listTopics({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Topic[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Create a topic; the caller becomes its owner
 */
export function deprecatedCreateTopic(body: {
    /** What kind of event the topic is of. */
    eventType: string;
    /** For people. */
    description?: string;
    /** How many logs the topic has, 1 where absent. It stays. */
    shards?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>("/events/v1/topics", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the topics that the caller owns or may consume
 */
export function deprecatedListTopics({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Topic[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * A topic, what it stores, and how far behind the caller is
 */
export function getTopic(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TopicStatus;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}`, {
        ...opts
    });
}
/**
 * Delete a topic with its events, cursors and subscriptions
 */
export function deleteTopic(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * A topic, what it stores, and how far behind the caller is
 */
export function deprecatedGetTopic(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TopicStatus;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}`, {
        ...opts
    });
}
/**
 * Delete a topic with its events, cursors and subscriptions
 */
export function deprecatedDeleteTopic(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Publish an event or an array of events
 */
export function publishEvents(topicOwnerClient: string, eventType: string, body: NewEvent | NewEvent[], { idempotencyKey }: {
    idempotencyKey?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: PublishedIds;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/publish`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "Idempotency-Key": idempotencyKey
        })
    }));
}
/**
 * Publish an event or an array of events
 */
export function deprecatedPublishEvents(topicOwnerClient: string, eventType: string, body: NewEvent | NewEvent[], { idempotencyKey }: {
    idempotencyKey?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: PublishedIds;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/publish`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "Idempotency-Key": idempotencyKey
        })
    }));
}
/**
 * Read the next events and lock the topic for the caller
 */
export function readEvents(topicOwnerClient: string, eventType: string, body?: {
    /** How many events at most, 1 where absent; more than 1000 are served as 1000. */
    numEvents?: number;
    /** How long the lock lasts, 60000 where absent. */
    ttlMs?: number;
    /** Commit the batch at once, without a lock; what the answer loses is lost. */
    autoCommit?: boolean;
}, { idempotencyKey }: {
    idempotencyKey?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Batch;
    } | {
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/read`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "Idempotency-Key": idempotencyKey
        })
    }));
}
/**
 * Read the next events and lock the topic for the caller
 */
export function deprecatedReadEvents(topicOwnerClient: string, eventType: string, body?: {
    /** How many events at most, 1 where absent; more than 1000 are served as 1000. */
    numEvents?: number;
    /** How long the lock lasts, 60000 where absent. */
    ttlMs?: number;
    /** Commit the batch at once, without a lock; what the answer loses is lost. */
    autoCommit?: boolean;
}, { idempotencyKey }: {
    idempotencyKey?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Batch;
    } | {
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/read`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "Idempotency-Key": idempotencyKey
        })
    }));
}
/**
 * Commit the events that were read under a token
 */
export function commitEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/commit`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Commit the events that were read under a token
 */
export function deprecatedCommitEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/commit`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Let the lock of a batch last ttlMs from now
 */
export function extendLock(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** How long the lock lasts from now on. */
    ttlMs: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/extend`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Let the lock of a batch last ttlMs from now
 */
export function deprecatedExtendLock(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** How long the lock lasts from now on. */
    ttlMs: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/extend`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Give a batch back, after committing the events up to one of them
 */
export function releaseEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** The id of an event of the batch: it and those before it are committed. */
    commitThrough?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/release`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Give a batch back, after committing the events up to one of them
 */
export function deprecatedReleaseEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** The id of an event of the batch: it and those before it are committed. */
    commitThrough?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/release`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Move the calling client's cursor, while the topic is not locked
 */
export function seekCursor(topicOwnerClient: string, eventType: string, body: {
    /** `oldest`, `newest`, or a time in ms: the first event of that time or later is read next. */
    to: ("oldest" | "newest") | number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/seek`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Move the calling client's cursor, while the topic is not locked
 */
export function deprecatedSeekCursor(topicOwnerClient: string, eventType: string, body: {
    /** `oldest`, `newest`, or a time in ms: the first event of that time or later is read next. */
    to: ("oldest" | "newest") | number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/seek`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Look at stored events without lock or cursor
 */
export function lookAtEvents(topicOwnerClient: string, eventType: string, { after, limit }: {
    after?: string;
    limit?: number;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Look;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/events${QS.query(QS.explode({
        after,
        limit
    }))}`, {
        ...opts
    });
}
/**
 * Look at stored events without lock or cursor
 */
export function deprecatedLookAtEvents(topicOwnerClient: string, eventType: string, { after, limit }: {
    after?: string;
    limit?: number;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Look;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/events${QS.query(QS.explode({
        after,
        limit
    }))}`, {
        ...opts
    });
}
/**
 * List the calling client's push subscriptions
 */
export function listPushSubscriptions(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SubscriptionName[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions`, {
        ...opts
    });
}
/**
 * Create a push subscription; the answer shows its signing secret once
 */
export function createPushSubscription(topicOwnerClient: string, eventType: string, body: {
    /** 3 to 256 letters, digits, `_` or `-`. It stays: an update has the same one, or none. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. In an update absent: it stays. */
        handshake?: boolean;
        /** What the platform sends as HTTP Basic. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown; `********` in an update leaves it as it is, unless the endpoint moves to another origin. */
            password: string;
        };
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: NewPushSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the calling client's push subscriptions
 */
export function deprecatedListPushSubscriptions(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SubscriptionName[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions`, {
        ...opts
    });
}
/**
 * Create a push subscription; the answer shows its signing secret once
 */
export function deprecatedCreatePushSubscription(topicOwnerClient: string, eventType: string, body: {
    /** 3 to 256 letters, digits, `_` or `-`. It stays: an update has the same one, or none. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. In an update absent: it stays. */
        handshake?: boolean;
        /** What the platform sends as HTTP Basic. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown; `********` in an update leaves it as it is, unless the endpoint moves to another origin. */
            password: string;
        };
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: NewPushSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * A push subscription, and how far it is
 */
export function getPushSubscription(topicOwnerClient: string, eventType: string, name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PushSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}`, {
        ...opts
    });
}
/**
 * Change endpoint, username and password of a push subscription, and enable it
 */
export function updatePushSubscription(topicOwnerClient: string, eventType: string, name: string, body: {
    /** 3 to 256 letters, digits, `_` or `-`. It stays: an update has the same one, or none. */
    name?: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. In an update absent: it stays. */
        handshake?: boolean;
        /** What the platform sends as HTTP Basic. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown; `********` in an update leaves it as it is, unless the endpoint moves to another origin. */
            password: string;
        };
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PushSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Delete a push subscription
 */
export function deletePushSubscription(topicOwnerClient: string, eventType: string, name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * A push subscription, and how far it is
 */
export function deprecatedGetPushSubscription(topicOwnerClient: string, eventType: string, name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PushSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}`, {
        ...opts
    });
}
/**
 * Change endpoint, username and password of a push subscription, and enable it
 */
export function deprecatedUpdatePushSubscription(topicOwnerClient: string, eventType: string, name: string, body: {
    /** 3 to 256 letters, digits, `_` or `-`. It stays: an update has the same one, or none. */
    name?: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. In an update absent: it stays. */
        handshake?: boolean;
        /** What the platform sends as HTTP Basic. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown; `********` in an update leaves it as it is, unless the endpoint moves to another origin. */
            password: string;
        };
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PushSubscription;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Delete a push subscription
 */
export function deprecatedDeletePushSubscription(topicOwnerClient: string, eventType: string, name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * What became of each event, the latest first
 */
export function listDeliveries(topicOwnerClient: string, eventType: string, name: string, { state, pageNumber, pageSize, cursor }: {
    state?: "pending" | "delivered" | "dead";
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Delivery[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/deliveries${QS.query(QS.explode({
        state,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * What became of each event, the latest first
 */
export function deprecatedListDeliveries(topicOwnerClient: string, eventType: string, name: string, { state, pageNumber, pageSize, cursor }: {
    state?: "pending" | "delivered" | "dead";
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Delivery[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/deliveries${QS.query(QS.explode({
        state,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Deliver an event again
 */
export function redeliverEvent(topicOwnerClient: string, eventType: string, name: string, eventId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/deliveries/${encodeURIComponent(eventId)}/redeliver`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Deliver an event again
 */
export function deprecatedRedeliverEvent(topicOwnerClient: string, eventType: string, name: string, eventId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/deliveries/${encodeURIComponent(eventId)}/redeliver`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Send a test event to the endpoint and tell what came of it
 */
export function testPushSubscription(topicOwnerClient: string, eventType: string, name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TestDelivery;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/test`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Send a test event to the endpoint and tell what came of it
 */
export function deprecatedTestPushSubscription(topicOwnerClient: string, eventType: string, name: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TestDelivery;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/test`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List every client's push subscriptions on the topic, for its owner
 */
export function listSubscribers(topicOwnerClient: string, eventType: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Subscriber[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscribers${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * List every client's push subscriptions on the topic, for its owner
 */
export function deprecatedListSubscribers(topicOwnerClient: string, eventType: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Subscriber[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscribers${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * End a client's push subscription on the topic, as its owner
 */
export function endSubscriber(topicOwnerClient: string, eventType: string, subscriberId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscribers/${encodeURIComponent(subscriberId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * End a client's push subscription on the topic, as its owner
 */
export function deprecatedEndSubscriber(topicOwnerClient: string, eventType: string, subscriberId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscribers/${encodeURIComponent(subscriberId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Create the upload link of a private file
 */
export function createPrivateFile(body?: {
    /** What will be uploaded, `binary/octet-stream` where absent; no multipart form. */
    "Content-Type"?: string;
}, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: NewFile;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files${QS.query(QS.explode({
        clip,
        crop
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the private files of a tenant
 */
export function listPrivateFiles(tenant: string, { q, contentType, sort, pageNumber, pageSize, cursor }: {
    q?: string;
    contentType?: string;
    sort?: string;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: File[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files${QS.query(QS.explode({
        tenant,
        q,
        "content-type": contentType,
        sort,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Delete the private files of a tenant, all or by query
 */
export function deletePrivateFiles(tenant: string, { q, dryRun }: {
    q?: string;
    dryRun?: boolean;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: FileCount;
    } | {
        status: 202;
    } | {
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files${QS.query(QS.explode({
        tenant,
        q,
        dryRun
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Create the upload link of a public file
 */
export function createPublicFile(body?: {
    /** What will be uploaded, `binary/octet-stream` where absent; no multipart form. */
    "Content-Type"?: string;
}, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: NewFile;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files${QS.query(QS.explode({
        clip,
        crop
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the public files of a tenant
 */
export function listPublicFiles(tenant: string, { q, contentType, sort, pageNumber, pageSize, cursor }: {
    q?: string;
    contentType?: string;
    sort?: string;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: File[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files${QS.query(QS.explode({
        tenant,
        q,
        "content-type": contentType,
        sort,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Delete the public files of a tenant, all or by query
 */
export function deletePublicFiles(tenant: string, { q, dryRun }: {
    q?: string;
    dryRun?: boolean;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: FileCount;
    } | {
        status: 202;
    } | {
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files${QS.query(QS.explode({
        tenant,
        q,
        dryRun
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Commit a private file
 */
export function commitPrivateFile(fileId: string, body?: {
    [key: string]: unknown;
}, { tenant }: {
    tenant?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: CommittedFile;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}/commit${QS.query(QS.explode({
        tenant
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Commit a public file
 */
export function commitPublicFile(fileId: string, body?: {
    [key: string]: unknown;
}, { tenant }: {
    tenant?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: CommittedFile;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 409;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}/commit${QS.query(QS.explode({
        tenant
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Delete a private file
 */
export function deletePrivateFile(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Get a temporary link to a private file or one of its variants
 */
export function getPrivateFile(fileId: string, { clip, crop, fallback, tenant, ifNoneMatch }: {
    clip?: string;
    crop?: string;
    fallback?: boolean;
    tenant?: string;
    ifNoneMatch?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: FileLink;
    } | {
        status: 304;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}${QS.query(QS.explode({
        clip,
        crop,
        fallback,
        tenant
    }))}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "If-None-Match": ifNoneMatch
        })
    });
}
/**
 * Delete a public file
 */
export function deletePublicFile(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Be redirected to a public file or one of its variants
 */
export function getPublicFile(fileId: string, { clip, crop, fallback, tenant, ifNoneMatch }: {
    clip?: string;
    crop?: string;
    fallback?: boolean;
    tenant?: string;
    ifNoneMatch?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 302;
    } | {
        status: 304;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}${QS.query(QS.explode({
        clip,
        crop,
        fallback,
        tenant
    }))}`, {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "If-None-Match": ifNoneMatch
        })
    });
}
/**
 * Read the metadata of a private file
 */
export function getPrivateMetadata(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}/metadata`, {
        ...opts
    });
}
/**
 * Replace the metadata of a private file
 */
export function replacePrivateMetadata(fileId: string, body: {
    [key: string]: unknown;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}/metadata`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Read the metadata of a public file
 */
export function getPublicMetadata(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}/metadata`, {
        ...opts
    });
}
/**
 * Replace the metadata of a public file
 */
export function replacePublicMetadata(fileId: string, body: {
    [key: string]: unknown;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            [key: string]: unknown;
        };
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 413;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 415;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}/metadata`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * List the variants of a private file
 */
export function listPrivateVariants(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Variant[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}/variants`, {
        ...opts
    });
}
/**
 * Add variants to a private file
 */
export function createPrivateVariants(fileId: string, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Variant[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}/variants${QS.query(QS.explode({
        clip,
        crop
    }))}`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Delete variants of a private file
 */
export function deletePrivateVariants(fileId: string, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/files/${encodeURIComponent(fileId)}/variants${QS.query(QS.explode({
        clip,
        crop
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List the variants of a public file
 */
export function listPublicVariants(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Variant[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}/variants`, {
        ...opts
    });
}
/**
 * Add variants to a public file
 */
export function createPublicVariants(fileId: string, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Variant[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}/variants${QS.query(QS.explode({
        clip,
        crop
    }))}`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Delete variants of a public file
 */
export function deletePublicVariants(fileId: string, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/files/${encodeURIComponent(fileId)}/variants${QS.query(QS.explode({
        clip,
        crop
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Add variants to many private files, a page a call
 */
export function bulkCreatePrivateVariants(tenant: string, { clip, crop, q, contentType, dryRun, pageNumber, pageSize, cursor }: {
    clip?: string;
    crop?: string;
    q?: string;
    contentType?: string;
    dryRun?: boolean;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkCount;
    } | {
        status: 202;
        data: BulkCount;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/bulk/variants${QS.query(QS.explode({
        tenant,
        clip,
        crop,
        q,
        "content-type": contentType,
        dryRun,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Delete variants of many private files, a page a call
 */
export function bulkDeletePrivateVariants(tenant: string, { clip, crop, q, contentType, dryRun, pageNumber, pageSize, cursor }: {
    clip?: string;
    crop?: string;
    q?: string;
    contentType?: string;
    dryRun?: boolean;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkCount;
    } | {
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/bulk/variants${QS.query(QS.explode({
        tenant,
        clip,
        crop,
        q,
        "content-type": contentType,
        dryRun,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Add variants to many public files, a page a call
 */
export function bulkCreatePublicVariants(tenant: string, { clip, crop, q, contentType, dryRun, pageNumber, pageSize, cursor }: {
    clip?: string;
    crop?: string;
    q?: string;
    contentType?: string;
    dryRun?: boolean;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkCount;
    } | {
        status: 202;
        data: BulkCount;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/bulk/variants${QS.query(QS.explode({
        tenant,
        clip,
        crop,
        q,
        "content-type": contentType,
        dryRun,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Delete variants of many public files, a page a call
 */
export function bulkDeletePublicVariants(tenant: string, { clip, crop, q, contentType, dryRun, pageNumber, pageSize, cursor }: {
    clip?: string;
    crop?: string;
    q?: string;
    contentType?: string;
    dryRun?: boolean;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BulkCount;
    } | {
        status: 204;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/public/bulk/variants${QS.query(QS.explode({
        tenant,
        clip,
        crop,
        q,
        "content-type": contentType,
        dryRun,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Read how far a deletion is
 */
export function getErasure(erasureId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Erasure;
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/erasures/${encodeURIComponent(erasureId)}`, {
        ...opts
    });
}
/**
 * List the deletions of a tenant's files
 */
export function listErasures(tenant: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Erasure[];
    } | {
        status: 400;
        data: Error;
    } | {
        status: 401;
        data: Error;
    } | {
        status: 403;
        data: Error;
    } | {
        status: 404;
        data: Error;
    } | {
        status: 406;
        data: Error;
    } | {
        status: 414;
        data: Error;
    } | {
        status: 429;
        data: Error;
    } | {
        status: 500;
        data: Error;
    } | {
        status: 503;
        data: Error;
    }>(`/media/v2/erasures${QS.query(QS.explode({
        tenant,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
