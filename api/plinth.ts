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
const runtime = Oazapfts.runtime(defaults);
type Json = Parameters<typeof runtime.json>[0];
type Form = Parameters<typeof runtime.form>[0];
type Sent = NonNullable<Parameters<typeof runtime.fetchJson>[1]>;
type Given<T extends { body?: unknown }> = Omit<T, "body"> & { body?: T["body"] | undefined };
const oazapfts = {
    ...runtime,
    json: (given: Given<Json>) => runtime.json(given as Json) as Sent,
    form: (given: Given<Form>) => runtime.form(given as Form) as Sent
};
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
    /** The kind of error; `moreInfo` says what to do about it. */
    "type": "bad_payload_syntax" | "validation_violation" | "business_error" | "insufficient_credentials" | "insufficient_permissions" | "element_resource_non_existing" | "unsupported_method" | "unsupported_response_content_type" | "conflict_resource" | "topic_locked" | "topic_not_locked" | "precondition_failed" | "bad_payload_size" | "uri_too_long" | "unsupported_request_content_type" | "range_not_satisfiable" | "insufficient_resources" | "internal_service_error" | "service_temporarily_unavailable";
    /** The mistake in this request, and what to do next. For people; the text may change. */
    message: string;
    /** The entry of the error reference. */
    moreInfo: string;
    /** All mistakes; at most 20. */
    details: {
        /** The exact mistake; the error reference says what to do about it. */
        "type": "missing_field" | "invalid_field" | "missing_header" | "invalid_header" | "missing_query_parameter" | "invalid_query_parameter" | "invalid_uri_parameter" | "out_of_range_parameter" | "absent" | "taken" | "in_use" | "built_in" | "not_confidential" | "tenant_refused" | "idempotency_key_used" | "topic_exists" | "topic_deletion_in_progress" | "lock_expired" | "unknown_token" | "already_committed" | "too_many_consumers" | "subscription_exists" | "too_many_topics" | "subscription_disabled" | "subscription_unverified" | "too_many_subscriptions" | "credentials_unreadable" | "event_expired" | "file_not_uploaded" | "already_uploaded" | "upload_changed" | "quota_exceeded" | "query_too_broad" | "unsupported_content_type" | "too_many_transformations" | "too_many_variants" | "too_many_attributes" | "comparison_running" | "repair_under_way" | "backup_unbound" | "no_past" | "never_restored" | "job_under_way" | "maintenance_off" | "already_there" | "crowded" | "move_under_way" | "tenant_moves" | "other_run_under_way";
        /** The field in bean notation, or the parameter or header; empty if it is none of them. */
        field: string;
        /** The same, for people. */
        message: string;
        /** The entry of the error reference. */
        moreInfo: string;
    }[];
    /** Only at `/userinfo`: RFC 6750's error code. */
    error?: string;
    /** Only at `/userinfo`: the message. */
    error_description?: string;
};
export type Start = {
    /** The program. */
    name: "Plinth";
    links: {
        [key: string]: string;
    };
};
export type TokenResponse = {
    /** How the token is used. `DPoP`: bound to the key of the proof. */
    token_type: "Bearer" | "DPoP";
    /** The access token. Opaque. */
    access_token: string;
    /** Lifetime in seconds. */
    expires_in: number;
    /** Its scopes, separated by spaces; the tenant's first. */
    scope: string;
    /** For an exchange: `urn:ietf:params:oauth:token-type:access_token`. */
    issued_token_type?: string;
    /** With `authorization_code` and `refresh_token`, for clients registered for it. */
    refresh_token?: string;
    /** With the scope `openid`: identifies the user (RS256). */
    id_token?: string;
};
export type OAuthError = {
    /** RFC 6749 5.2; the error reference says what to do about each. */
    error: "invalid_request" | "invalid_client" | "invalid_grant" | "invalid_scope" | "unauthorized_client" | "unsupported_grant_type" | "unsupported_response_type" | "access_denied" | "login_required" | "interaction_required" | "consent_required" | "account_selection_required" | "request_not_supported" | "unmet_authentication_requirements" | "request_uri_not_supported" | "registration_not_supported" | "invalid_redirect_uri" | "invalid_client_metadata" | "invalid_query_parameter" | "invalid_token" | "authorization_pending" | "invalid_target" | "slow_down" | "expired_token" | "invalid_dpop_proof" | "use_dpop_nonce" | "temporarily_unavailable" | "server_error";
    /** The same, for people; generic if more would tell a stranger too much. */
    error_description: string;
    /** The advice for this error. Ends with the request id, by which the operator finds the exact reason. */
    error_uri: string;
};
export type TokenInfo = {
    /** The token's scopes; the tenant's first. */
    scopes: string[];
    /** Its tenant; empty for an organization, or without a tenant. */
    tenant: string;
    /** Its client; empty if a user signed in without one. */
    clientId: string;
    /** The user that it was issued to. */
    user?: string;
    /** Addresses of the services that it is for; absent: all (RFC 8707). */
    resources?: string[];
    /** With `details=true`: services of the packages that the tenant subscribes to. */
    allowedServices?: {
        /** The service. */
        name: string;
        /** Its address. */
        proxyUrl: string[];
        /** Its scopes. */
        serviceScopes: string[];
    }[];
};
export type Empty = {};
export type Introspection = {
    /** Whether the token is valid and the caller may know it. */
    active: boolean;
    /** Its scopes, separated by spaces. */
    scope?: string;
    /** Its client. */
    client_id?: string;
    /** For an access token. */
    token_type?: "Bearer" | "DPoP";
    /** The service that acts for the user (RFC 8693). */
    act?: object;
    cnf?: {
        /** The thumbprint of the key. */
        jkt: string;
    };
    /** The user, as in ID tokens and `/userinfo`; otherwise the client's id. */
    sub?: string;
    /** The user's e-mail. */
    username?: string;
    /** The issuer. */
    iss?: string;
    /** Its audience: the platform, or the services that it is for (RFC 8707). */
    aud?: string | string[];
    /** The time of issue, in seconds. */
    iat?: number;
    /** The time of expiry, in seconds. */
    exp?: number;
    /** Its id. */
    jti?: string;
    /** Its tenant; empty for an organization, or without a tenant. */
    tenant?: string;
};
export type DeviceAuthorization = {
    /** The device's secret, for `/token`. */
    device_code: string;
    /** The code that the device shows. */
    user_code: string;
    /** The page on which a person types the code. */
    verification_uri: string;
    /** The page with the code filled in, for a QR code. */
    verification_uri_complete: string;
    /** Seconds until the codes expire: 600. */
    expires_in: number;
    /** The least seconds between two requests to `/token`: 5. */
    interval: number;
};
export type PushedRequest = {
    /** The reference, for `/authorize`. */
    request_uri: string;
    /** Seconds until the reference expires: 90. */
    expires_in: number;
};
export type RegisteredClient = {
    /** The client's id. */
    client_id: string;
    /** The time of the registration, in seconds. */
    client_id_issued_at: number;
    /** The addresses to which browsers return. */
    redirect_uris: string[];
    /** `code`. */
    response_types: string[];
    /** The client's name, which people see. */
    client_name?: string;
    /** The grant types that the client may use. */
    grant_types: string[];
    /** How the client authenticates. */
    token_endpoint_auth_method: string;
    /** The client's public keys. */
    jwks?: object;
    /** The address of the public keys. */
    jwks_uri?: string;
};
export type JwkSet = {
    /** Current, coming and recent signing keys. */
    keys: {
        /** The kind of key. */
        kty: "EC" | "RSA";
        /** The key's id in tokens. */
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
    /** The issuer of tokens. */
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
    /** Where clients register themselves, if the deployment allows it. */
    registration_endpoint?: string;
    /** The address of the endpoint. */
    device_authorization_endpoint: string;
    /** The address of the endpoint. */
    pushed_authorization_request_endpoint: string;
    /** False: only clients that are registered for it must push their requests (RFC 9126). */
    require_pushed_authorization_requests: boolean;
    /** The address of the endpoint. */
    end_session_endpoint: string;
    /** Clients are told when a session ends. */
    backchannel_logout_supported: boolean;
    /** The notice contains the session's id. */
    backchannel_logout_session_supported: boolean;
    /** Scopes of the platform itself. */
    scopes_supported: string[];
    /** The responses of `/authorize`. */
    response_types_supported: string[];
    /** How `/authorize` returns its responses. */
    response_modes_supported: string[];
    /** The grant types. */
    grant_types_supported: string[];
    /** PKCE. */
    code_challenge_methods_supported: string[];
    /** How clients authenticate there. */
    token_endpoint_auth_methods_supported: string[];
    /** How they sign assertions. */
    token_endpoint_auth_signing_alg_values_supported: string[];
    /** How clients authenticate there. */
    revocation_endpoint_auth_methods_supported: string[];
    /** How they sign assertions. */
    revocation_endpoint_auth_signing_alg_values_supported: string[];
    /** How clients authenticate there. */
    introspection_endpoint_auth_methods_supported: string[];
    /** How they sign assertions. */
    introspection_endpoint_auth_signing_alg_values_supported: string[];
    /** How DPoP proofs are signed (RFC 9449). */
    dpop_signing_alg_values_supported: string[];
    /** RFC 9207. */
    authorization_response_iss_parameter_supported: boolean;
    /** A client's id may be the address of a document that describes it. */
    client_id_metadata_document_supported: boolean;
    /** OpenID Connect Discovery. */
    subject_types_supported: string[];
    /** How ID tokens are signed. */
    id_token_signing_alg_values_supported: string[];
    /** Claims of ID tokens and of `/userinfo`. */
    claims_supported: string[];
    /** OpenID Connect Discovery. */
    claim_types_supported: string[];
    /** OpenID Connect Discovery. */
    claims_parameter_supported: boolean;
    /** Values of `acr`: kinds of sign-in. */
    acr_values_supported: string[];
    /** OpenID Connect Discovery. */
    request_parameter_supported: boolean;
    /** OpenID Connect Discovery. */
    request_uri_parameter_supported: boolean;
    /** Values of `prompt`. */
    prompt_values_supported: string[];
    /** Values of `display`. */
    display_values_supported: string[];
    /** Languages of the pages. */
    ui_locales_supported: string[];
    /** For developers. */
    service_documentation: string;
};
export type UserInfo = {
    /** The user's e-mail, or an opaque text if the deployment has `SUBJECT=opaque`. */
    sub: string;
    /** The user's e-mail, with the scope `email`. */
    email?: string;
    /** True if the user used a link in a mail to that address. Otherwise absent. */
    email_verified?: boolean;
    /** The user's name, with the scope `profile`. */
    name?: string;
    /** The address of the user's picture, with the scope `profile`. Absent without a picture. */
    picture?: string;
    /** The user's language (BCP 47), with the scope `profile`. Absent if it is unknown. */
    locale?: string;
};
export type RefreshToken = {
    /** The id of the grant. It stays the same when the token is replaced. */
    id: string;
    /** The client that holds the token. */
    clientId: string;
    /** The client's name. */
    clientName: string;
    /** Its tenant; empty for an organization, or without a tenant. */
    tenant: string;
    /** Its scopes, separated by spaces. */
    scope: string;
    /** The time at which the user granted access. In milliseconds since 1970. */
    createdAt: number;
    /** The time of the last use. In milliseconds since 1970. */
    lastUsedAt: number;
};
export type HealthCheck = {
    /** The part: `database`, `bucket`, `object TopicLog`, `sweeps`, … */
    name: string;
    /** Whether it works. */
    status: "ok" | "warn" | "fail";
    /** How long the check took. */
    tookMs: number;
    /** Measured values, by the check. */
    facts: {
        [key: string]: unknown;
    };
    /** What is wrong and what to do next; empty if nothing. */
    next: string;
};
export type DeepHealth = {
    /** The worst of all checks. */
    status: "ok" | "warn" | "fail";
    /** Milliseconds since 1970. */
    checkedAt: number;
    checks: HealthCheck[];
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
    /** Its quota; an absent limit means none. */
    quota: {
        /** The most files. */
        files?: number;
        /** The most bytes. */
        bytes?: number;
    };
    /** Its look on pages and in mails; each field may be empty. */
    brand: {
        /** The name in the pages' head and in mails. */
        name: string;
        /** The logo there. */
        logoUri: string;
        /** The colour of buttons and links, `#rrggbb`. */
        accentColor: string;
        /** The same in the dark theme; empty: a lighter tone is made. */
        accentColorDark: string;
        /** Its terms. */
        termsUri: string;
        /** Its privacy policy. */
        privacyUri: string;
    };
    /** Its plan, which sets its limit of requests a minute. */
    plan: "small" | "standard" | "large";
    /** People get tokens after two factors alone. */
    requireSecondFactor: boolean;
};
export type TenantUsage = {
    /** The tenant. */
    tenant: string;
    /** Files that it stores. */
    files: number;
    /** Their bytes, without variants. */
    bytes: number;
    pending: {
        /** Files that are not committed yet. They count against the quota. */
        files: number;
        /** Bytes reserved for their uploads, if the tenant has a limit of bytes. */
        bytes: number;
    };
    /** Its quota; an absent limit means none. */
    quota: {
        /** The most files. */
        files?: number;
        /** The most bytes. */
        bytes?: number;
    };
    /** What it used in the month that was asked for. */
    used?: {
        /** The month, of UTC. */
        month: string;
        /** The month is over, and everything counted in it has arrived. */
        isComplete: boolean;
        /** Requests with a valid token of the tenant, and those for its tokens and content. */
        requests: number;
        /** Access tokens issued. */
        tokens: number;
        /** Events of the tenant that were stored. */
        eventsPublished: number;
        /** Events that its clients read. */
        eventsRead: number;
        /** Events that endpoints of its subscriptions took. */
        eventsPushed: number;
        /** Bytes of bodies and committed files. */
        receivedBytes: number;
        /** Bytes of answers and content. */
        sentBytes: number;
        /** Variants of images that were made. */
        variants: number;
        /** Stored bytes, times the hours. */
        storedByteHours: number;
        /** The most files at any full hour. */
        mostFiles: number;
        /** The most bytes at any full hour. */
        mostBytes: number;
        /** Days with anything in them. */
        days: {
            /** A day of UTC. */
            day: string;
            /** Requests with a valid token of the tenant, and those for its tokens and content. */
            requests: number;
            /** Access tokens issued. */
            tokens: number;
            /** Events of the tenant that were stored. */
            eventsPublished: number;
            /** Events that its clients read. */
            eventsRead: number;
            /** Events that endpoints of its subscriptions took. */
            eventsPushed: number;
            /** Bytes of bodies and committed files. */
            receivedBytes: number;
            /** Bytes of answers and content. */
            sentBytes: number;
            /** Variants of images that were made. */
            variants: number;
            /** Stored bytes, times the hours. */
            storedByteHours: number;
            /** The most files at any full hour. */
            mostFiles: number;
            /** The most bytes at any full hour. */
            mostBytes: number;
        }[];
    };
};
export type User = {
    /** The account's address, normalised. */
    email: string;
    /** The name, for people. */
    name: string;
    /** The address of a picture; may be empty. */
    picture: string;
    /** The language, such as `de-CH`; may be empty. */
    locale: string;
    /** Whether the user can sign in by password. */
    hasPassword: boolean;
    /** The user used a link in a mail to the address; else absent. */
    emailVerified?: true;
    /** Since when the user shows a code of an app at every sign-in; absent: never. In milliseconds since 1970. */
    secondFactorAt?: number;
    /** The user cannot sign in. */
    disabled: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type Passkey = {
    /** The credential's id. */
    id: string;
    /** As the person called it. */
    name: string;
    /** It is copied to other devices of the person. */
    backedUp: boolean;
    /** When it was added. In milliseconds since 1970. */
    createdAt: number;
    /** The last sign-in by it. In milliseconds since 1970. */
    lastUsedAt: number | null;
};
export type UserSession = {
    /** The session's id, `sid` in its tokens. */
    sessionId: string;
    /** `default_idp` for the password here, else the identity provider. */
    provider: string;
    /** The browser, as it says itself; empty: unknown. */
    browser: string;
    /** Its operating system; empty: unknown. */
    system: string;
    /** The country of the sign-in, two letters; empty: unknown. */
    country: string;
    /** The city of the sign-in; empty: unknown. */
    city: string;
    /** When the person signed in. In milliseconds since 1970. */
    signedInAt: number;
    /** The last use, to the hour. In milliseconds since 1970. */
    lastUsedAt: number;
};
export type LinkedIdentity = {
    /** The user. */
    email: string;
    /** The identity provider's id. */
    provider: string;
    /** The account there: `sub` of its ID tokens. */
    subject: string;
    /** Who linked it to the user; `password`: the person, after their password or signed in at the account page. */
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
export type TenantInvitation = {
    /** The tenant. */
    tenant: string;
    /** The invited person. */
    email: string;
    /** The roles that the person gets there. */
    roles: string[];
    /** The name of a new account. */
    name?: string;
    /** The language of the mail. */
    language?: string;
    /** When the last mail was sent. In milliseconds since 1970. */
    createdAt: number;
    /** When its link ends. In milliseconds since 1970. */
    expiresAt: number;
};
export type SentTenantInvitation = {
    /** The tenant. */
    tenant: string;
    /** The invited person. */
    email: string;
    /** The roles that the person gets there. */
    roles: string[];
    /** The name of a new account. */
    name?: string;
    /** The language of the mail. */
    language?: string;
    /** When the last mail was sent. In milliseconds since 1970. */
    createdAt: number;
    /** When its link ends. In milliseconds since 1970. */
    expiresAt: number;
    /** The mail was taken. If not, send the request again. */
    mailed: boolean;
};
export type OrganizationInvitation = {
    /** The organization. */
    organization: string;
    /** The invited person. */
    email: string;
    /** The roles that the person gets there. */
    roles: string[];
    /** The name of a new account. */
    name?: string;
    /** The language of the mail. */
    language?: string;
    /** When the last mail was sent. In milliseconds since 1970. */
    createdAt: number;
    /** When its link ends. In milliseconds since 1970. */
    expiresAt: number;
};
export type SentOrganizationInvitation = {
    /** The organization. */
    organization: string;
    /** The invited person. */
    email: string;
    /** The roles that the person gets there. */
    roles: string[];
    /** The name of a new account. */
    name?: string;
    /** The language of the mail. */
    language?: string;
    /** When the last mail was sent. In milliseconds since 1970. */
    createdAt: number;
    /** When its link ends. In milliseconds since 1970. */
    expiresAt: number;
    /** The mail was taken. If not, send the request again. */
    mailed: boolean;
};
export type Role = {
    /** Its name. */
    name: string;
    /** The scopes that it gives. */
    scopes: string[];
    /** People get tokens after two factors alone. */
    requireSecondFactor: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type Client = {
    /** The client's id. */
    clientId: string;
    /** Owns topics and files. */
    name: string;
    /** Its name on pages for people; empty: `name`. */
    displayName: string;
    /** Its logo on these pages; may be empty. */
    logoUri: string;
    /** Its look on pages and in mails; each field may be empty. */
    brand: {
        /** The name in the pages' head and in mails. */
        name: string;
        /** The logo there. */
        logoUri: string;
        /** The colour of buttons and links, `#rrggbb`. */
        accentColor: string;
        /** The same in the dark theme; empty: a lighter tone is made. */
        accentColorDark: string;
        /** Its terms. */
        termsUri: string;
        /** Its privacy policy. */
        privacyUri: string;
    };
    /** Its parent tenant. */
    tenant: string;
    /** It has a secret. */
    confidential: boolean;
    /** The registered service whose client it is. */
    service?: string;
    /** Redirect URIs of sign-ins. */
    redirectUris: string[];
    /** Redirect URIs of sign-outs. */
    postLogoutRedirectUris: string[];
    /** Its grant types. */
    grantTypes: ("client_credentials" | "authorization_code" | "refresh_token" | "implicit" | "password" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
    /** Scopes that it may request; `*` at the end matches any ending. */
    scopes: string[];
    /** Codes need PKCE. */
    requirePkce: boolean;
    /** Each person reaches only the own files at this client. */
    filesPerUser: boolean;
    /** People are asked before it gets access. */
    thirdParty: boolean;
    /** People get tokens after two factors alone. */
    requireSecondFactor: boolean;
    /** Where it is told that a session ended; may be empty. */
    backchannelLogoutUri: string;
    /** It wants the session's id in logout tokens. */
    backchannelLogoutSessionRequired: boolean;
    /** How it authenticates. */
    authMethod: "client_secret" | "client_secret_jwt" | "private_key_jwt";
    /** Its authorization requests come through `/par` alone. */
    requirePushedAuthorizationRequests: boolean;
    /** Its access tokens are bound to keys. */
    dpopBoundAccessTokens: boolean;
    /** What it keeps to. */
    securityProfile: "none" | "fapi2";
    /** Its public keys, a JSON Web Key Set as text; may be empty. */
    jwks: string;
    /** The address of its public keys; may be empty. */
    jwksUri: string;
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
    /** Its name on pages for people; empty: `name`. */
    displayName: string;
    /** Its logo on these pages; may be empty. */
    logoUri: string;
    /** Its look on pages and in mails; each field may be empty. */
    brand: {
        /** The name in the pages' head and in mails. */
        name: string;
        /** The logo there. */
        logoUri: string;
        /** The colour of buttons and links, `#rrggbb`. */
        accentColor: string;
        /** The same in the dark theme; empty: a lighter tone is made. */
        accentColorDark: string;
        /** Its terms. */
        termsUri: string;
        /** Its privacy policy. */
        privacyUri: string;
    };
    /** Its parent tenant. */
    tenant: string;
    /** It has a secret. */
    confidential: boolean;
    /** The registered service whose client it is. */
    service?: string;
    /** Redirect URIs of sign-ins. */
    redirectUris: string[];
    /** Redirect URIs of sign-outs. */
    postLogoutRedirectUris: string[];
    /** Its grant types. */
    grantTypes: ("client_credentials" | "authorization_code" | "refresh_token" | "implicit" | "password" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
    /** Scopes that it may request; `*` at the end matches any ending. */
    scopes: string[];
    /** Codes need PKCE. */
    requirePkce: boolean;
    /** Each person reaches only the own files at this client. */
    filesPerUser: boolean;
    /** People are asked before it gets access. */
    thirdParty: boolean;
    /** People get tokens after two factors alone. */
    requireSecondFactor: boolean;
    /** Where it is told that a session ended; may be empty. */
    backchannelLogoutUri: string;
    /** It wants the session's id in logout tokens. */
    backchannelLogoutSessionRequired: boolean;
    /** How it authenticates. */
    authMethod: "client_secret" | "client_secret_jwt" | "private_key_jwt";
    /** Its authorization requests come through `/par` alone. */
    requirePushedAuthorizationRequests: boolean;
    /** Its access tokens are bound to keys. */
    dpopBoundAccessTokens: boolean;
    /** What it keeps to. */
    securityProfile: "none" | "fapi2";
    /** Its public keys, a JSON Web Key Set as text; may be empty. */
    jwks: string;
    /** The address of its public keys; may be empty. */
    jwksUri: string;
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
    /** When the previous secret stops working. In milliseconds since 1970. */
    previousExpiresAt: number;
};
export type LogoutDelivery = {
    /** The `jti` of the logout token. */
    id: string;
    /** The person's `sub` in the client's tokens. */
    user: string;
    /** The `sid` there. */
    sessionId: string;
    /** Not there yet, or never. */
    state: "pending" | "dead";
    /** When the session ended. In milliseconds since 1970. */
    createdAt: number;
    /** Attempts until now. */
    attempts: number;
    /** The last attempt that failed. */
    lastAttempt: {
        /** When. In milliseconds since 1970. */
        at: number;
        /** The status of the answer; null: none. */
        status: number | null;
        /** What failed, as for push. */
        error: "status" | "timeout" | "unreachable" | "redirect" | "refused";
    } | null;
    /** The next attempt; null: none. In milliseconds since 1970. */
    nextAttemptAt: number | null;
};
export type UnregisteredClient = {
    /** Its id: an address, or what its registration gave. */
    clientId: string;
    /** Described by a document, or registered by itself. */
    kind: "document" | "registered";
    /** Its name, by its own account; may be empty. */
    name: string;
    /** Where people return to. */
    redirectUris: string[];
    /** People whose refresh tokens it holds; of the first 1,000 grants. */
    people: number;
    /** When these data were read. In milliseconds since 1970. */
    readAt: number;
    /** When a person last allowed it, or it registered itself. In milliseconds since 1970. */
    usedAt: number;
};
export type Service = {
    /** Its name. */
    name: string;
    /** It belongs to the platform itself; otherwise absent. */
    builtIn?: true;
    /** Its private address; absent for a built-in service. */
    sourceUrl?: string;
    /** Its public path at the gateway. */
    proxyPath: string;
    /** Its scopes; `*` at the end matches any ending. */
    scopes: string[];
    /** Words for people, by scope. */
    scopeDescriptions: {
        [key: string]: string;
    };
    /** Tenants need no subscription. */
    essential: boolean;
    /** The tenant that owns it. */
    tenant: string;
    /** Whether the gateway requires a token. */
    access: "token" | "public";
    /** It also gets the original tokens of other tenants' callers, which are valid on the whole platform; otherwise it gets a token only for itself. Absent where it is built in. */
    forwardAuthorization?: boolean;
    /** Its pages and cookies share the platform's origin; otherwise a sandbox and its path isolate them. Absent where it is built in. */
    trusted?: boolean;
    /** When it was made. In milliseconds since 1970. */
    createdAt?: number;
};
export type Package = {
    /** Its id. */
    id: string;
    /** Its version, for people. */
    version: string;
    /** It belongs to the platform itself; otherwise absent. */
    builtIn?: true;
    /** The organization that offers it; absent for a built-in package. */
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
    /** Scopes requested from it. */
    scopes: string[];
    /** Tenants that sign-ins by it can reach; none: all. */
    tenants: string[];
    /** E-mail domains that it may vouch for; none: all. */
    domains: string[];
    /** Who links a user to an account there, once. */
    linking: "confirm" | "operator" | "verified_email";
    /** Its addresses count as verified if it does not say. */
    trustEmail: boolean;
    /** Its name on the sign-in page; empty: no button. */
    button: string;
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
};
export type ProviderTrial = {
    /** No check failed. */
    works: boolean;
    /** In their order; the first that fails is the last. */
    checks: {
        /** `secret`: it opens. `discovery`: it names the issuer. `keys`: they can be used. `client`: the provider knows it with its secret. */
        check: "secret" | "discovery" | "keys" | "client";
        /** `unclear`: the provider's answer says neither. */
        result: "passed" | "failed" | "unclear";
        /** What was found, for people. */
        detail: string;
    }[];
};
export type Explanation = {
    /** Whether a token would be issued. */
    granted: boolean;
    /** The grant, or the first reason for a refusal. */
    reason: string;
    /** All checks, in order. */
    checks: {
        /** The check. */
        check: "request" | "client" | "user" | "grant" | "client_tenant" | "place" | "client_lists_scope" | "tenant_uses_service" | "role_holds_scope" | "user_authorized_scope";
        /** The scope, if the check is about one. */
        scope?: string;
        /** Whether the check passed. */
        passed: boolean;
        /** The finding, and what to change. */
        detail: string;
    }[];
    /** Each scope as if it were requested alone. */
    scopes: {
        /** A requested scope. */
        scope: string;
        /** Whether it alone would be granted. */
        granted: boolean;
        /** Why. */
        reason: string;
    }[];
    /** Scopes of the token; empty if there is none. */
    effective: string[];
};
export type OperatedSubscription = {
    /** Identifies it. */
    id: string;
    /** Its topic: `<owner>.<eventType>`. */
    topic: string;
    /** The client that made it. */
    client: string;
    /** Its name, unique for the client on the topic. */
    name: string;
    /** Scheme, host and port of its endpoint. */
    endpointOrigin: string;
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: nothing stops it. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** By which right it was made. */
    right: "owner" | "scope";
    /** The client token that made it; null: unknown. */
    made: {
        /** The token's tenant. */
        tenant: string;
        /** By which request. */
        requestId: string;
        /** The scope that covered the topic; null: the owner needs none. */
        scope: string | null;
    } | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
};
export type DeliveryStatus = {
    /** Events that wait for delivery; null: unknown now. */
    lag: number | null;
    /** Dead letters; null: unknown now. */
    deadLetters: number | null;
    /** Events that retention removed before their delivery; null: unknown now. */
    eventsLost: number | null;
    /** End of the endpoint's pause; null: none. In milliseconds since 1970. */
    pausedUntil: number | null;
    /** Progress of the verification; null: unknown now. While `unverified` and `failed`. */
    verification?: {
        /** Number of verification attempts. */
        attempts: number;
        /** Reason of the last failed verification: as for deliveries, or 2xx without the challenge; null: none yet. */
        lastError: "status" | "timeout" | "unreachable" | "redirect" | "refused" | "no_challenge" | null;
        /** When the next verification comes; null: never. In milliseconds since 1970. */
        nextAttemptAt: number | null;
    } | null;
};
export type Delivery = {
    /** The event. */
    eventId: string;
    /** `dead`: every attempt failed; it can be delivered again. */
    state: "pending" | "delivered" | "dead";
    /** When the next attempt comes; null: never. In milliseconds since 1970. */
    nextAttemptAt: number | null;
    /** Number of attempts. */
    attemptCount: number;
    /** The last 20 attempts. */
    attempts: {
        /** When the attempt was made. In milliseconds since 1970. */
        at: number;
        /** Duration of the request. */
        durationMs: number;
        /** The status of its answer; null: no answer. */
        status: number | null;
        /** Reason of the failure: not 2xx, no answer in 15 s, no connection, 3xx, or an address that is not called; null: no failure. */
        error: "status" | "timeout" | "unreachable" | "redirect" | "refused" | null;
    }[];
};
export type DeliveryReport = {
    /** The event. */
    eventId: string;
    /** `dead`: every attempt failed; it can be delivered again. */
    state: "pending" | "delivered" | "dead";
    /** When the next attempt comes; null: never. In milliseconds since 1970. */
    nextAttemptAt: number | null;
    /** Number of attempts. */
    attemptCount: number;
    /** What each attempt sends: the event's JSON; null: nobody has it any more. */
    body: string | null;
    /** The last 20 attempts. */
    attempts: {
        /** When the attempt was made. In milliseconds since 1970. */
        at: number;
        /** Duration of the request. */
        durationMs: number;
        /** The status of its answer; null: no answer. */
        status: number | null;
        /** Reason of the failure: not 2xx, no answer in 15 s, no connection, 3xx, or an address that is not called; null: no failure. */
        error: "status" | "timeout" | "unreachable" | "redirect" | "refused" | null;
        /** Headers of its request, without password and signature. */
        headers: {
            [key: string]: string;
        };
        /** The beginning of what the endpoint said, if it refused; 500 bytes at most. Null: nothing was kept. */
        answer: string | null;
    }[];
};
export type RedeliveredDead = {
    /** Dead letters that are delivered again. */
    redelivered: number;
    /** There are more; ask again. */
    more: boolean;
};
export type TestDelivery = {
    /** Whether the endpoint accepted it. */
    delivered: boolean;
    /** Duration of the request. */
    durationMs: number;
    /** The status of its answer; null: no answer. */
    status: number | null;
    /** Reason of the failure: not 2xx, no answer in 15 s, no connection, 3xx, or an address that is not called; null: no failure. */
    error: "status" | "timeout" | "unreachable" | "redirect" | "refused" | null;
};
export type OperatedTopic = {
    /** The client that owns the topic. */
    topicOwnerClient: string;
    /** The topic's event type. */
    eventType: string;
    /** The owner's description; may be empty. */
    description: string;
    /** When the topic was created. In milliseconds since 1970. */
    createdAt: number;
    /** The topic's number of logs. */
    shards: number;
    /** `deleting` until its events, cursors and subscriptions are gone. */
    state: "active" | "deleting";
};
export type OperatedTopicReport = {
    /** The client that owns the topic. */
    topicOwnerClient: string;
    /** The topic's event type. */
    eventType: string;
    /** The owner's description; may be empty. */
    description: string;
    /** When the topic was created. In milliseconds since 1970. */
    createdAt: number;
    /** The topic's number of logs. */
    shards: number;
    /** `deleting` until its events, cursors and subscriptions are gone. */
    state: "active" | "deleting";
    /** Events in the topic's logs. */
    storedEvents: number;
    /** When the oldest was published; null: none is stored. In milliseconds since 1970. */
    oldestEventAt: number | null;
    /** When the newest was published; null: none is stored. In milliseconds since 1970. */
    newestEventAt: number | null;
    /** Events that were published in the last minute. */
    eventsLastMinute: number;
    /** Events that were published in the last hour. */
    eventsLastHour: number;
    /** Size of its logs' databases; null: not known now. */
    storedBytes: number | null;
    /** Consumers that have read the topic; at most 50. */
    consumers: {
        /** Its id in this topic. */
        id: string;
        /** The client that reads. */
        client: string;
        /** It reads for a person, with a cursor of its own. */
        ofPerson: boolean;
        /** It is shown this tenant's events only; null: all. */
        onlyTenant: string | null;
        /** The name that the client gave the consumer; null: it has none. */
        name: string | null;
        /** Stored events that it has not committed; null: not known for one tenant's events. */
        lag: number | null;
    }[];
    /** There are more consumers. */
    moreConsumers: boolean;
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
    /** The payload as published. */
    payload: string;
    /** Names and texts beside the payload, if there are any. */
    metadata?: {
        [key: string]: string;
    };
};
export type OperatedLook = {
    /** Events, in order of time; in a search, those that match. */
    events: Event[];
    /** The `after` of the next request; null: this was the end. */
    next: string | null;
    /** Events that were read, matching or not. */
    read: number;
};
export type CursorMove = {
    /** Its id in this topic. */
    id: string;
    /** The client that reads. */
    client: string;
    /** It reads for a person, with a cursor of its own. */
    ofPerson: boolean;
    /** It is shown this tenant's events only; null: all. */
    onlyTenant: string | null;
    /** The name that the client gave the consumer; null: it has none. */
    name: string | null;
    /** Events that it would read again; null: not known for one tenant's events. */
    again: number | null;
    /** Events that it would never read; null: not known for one tenant's events. */
    skipped: number | null;
    /** The first events that it would read then; at most five. */
    first: Event[];
};
export type FileOwner = {
    /** The client that owns the files. */
    client: string;
    /** Who may fetch the files. */
    visibility: "private" | "public";
    /** Its committed files. */
    files: number;
    /** Their length, without variants. */
    bytes: number;
};
export type OperatedFile = {
    /** The file's id. */
    id: string;
    /** As declared. */
    "Content-Type": string;
    /** Its length in bytes. */
    size: number;
    /** Identifies its bytes. */
    etag: string;
    /** The name from its upload; null: none. */
    fileName: string | null;
    /** The tenant that it belongs to. */
    tenant: string;
    /** When its upload link was made. In milliseconds since 1970. */
    createdAt: number;
    /** When it was committed. In milliseconds since 1970. */
    committedAt: number;
    /** Any JSON object, stored as sent. */
    metadata: {
        [key: string]: unknown;
    };
    /** Its variants; those of private files have no link here. */
    variants: {
        /** `clip` fits into the size; `crop` fills it and cuts around the centre. */
        "type": "clip" | "crop";
        /** As requested, for example `300x200`. */
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
        /** Its content, once it is ready; of private files for some minutes. */
        link?: string;
    }[];
    /** Its content, of public files. */
    link?: string;
    /** A small picture of an image; absent: there is none. Of private files for some minutes. */
    preview?: string;
};
export type CommittedFile = {
    /** The file's id. */
    id: string;
    /** The file's own address. */
    link: string;
};
export type FileCount = {
    /** How many files. */
    files: number;
    /** Their bytes, without variants. */
    bytes: number;
};
export type BulkCount = {
    /** Images of this page. */
    files: number;
    /** Variants of them. */
    transformations: number;
    /** Those that had no capacity for so many variants and got none; absent: none. */
    skipped?: number;
};
export type WaitingVariants = {
    /** Variants of these files that are not made yet. */
    waiting: number;
    /** There may be more: the platform has so much to do that not all of it was looked at. */
    more: boolean;
};
export type FoundFiles = {
    /** At most 20; whole names first. */
    files: {
        /** The file's id. */
        id: string;
        /** The `name` of its metadata. */
        name: string;
        /** The tenant whose file it is. */
        tenant: string;
        /** The client that owns it. */
        client: string;
        /** Who may fetch the files. */
        visibility: "private" | "public";
    }[];
    /** There may be others: send a longer text, or name a tenant. */
    more: boolean;
};
export type OperatedFileReport = {
    /** The file's id. */
    id: string;
    /** As declared. */
    "Content-Type": string;
    /** Its length in bytes. */
    size: number;
    /** Identifies its bytes. */
    etag: string;
    /** The name from its upload; null: none. */
    fileName: string | null;
    /** The tenant that it belongs to. */
    tenant: string;
    /** The client that owns it. */
    client: string;
    /** Who may fetch the files. */
    visibility: "private" | "public";
    /** When it was committed. In milliseconds since 1970. */
    committedAt: number;
    /** The JSON object of its metadata, as it was sent. */
    metadataText: string;
    /** Its variants. */
    variants: {
        /** `clip` fits into the size; `crop` fills it and cuts around the centre. */
        "type": "clip" | "crop";
        /** As requested, for example `300x200`. */
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
        /** Its content, once it is ready; of private files for some minutes. */
        link?: string;
    }[];
    /** Its content; of a private file for some minutes. */
    link: string;
    /** A small picture of an image; absent: there is none. Of private files for some minutes. */
    preview?: string;
};
export type Erasure = {
    /** The deletion's id. */
    id: string;
    /** Requested deletions. */
    kind: "file" | "query" | "all";
    /** The tenant of the files; for a file that was never committed, that of the caller. */
    tenant: string;
    /** Whether it deleted private or public files. */
    visibility: "private" | "public";
    /** `deleted`: all bytes are deleted; `verified`: a later listing has none left. */
    state: "deleting" | "deleted" | "verified";
    /** When it was requested. From then on nobody can read the files. In milliseconds since 1970. */
    requestedAt: number;
    /** When the last bytes were deleted; null: not yet. In milliseconds since 1970. */
    deletedAt: number | null;
    /** When it was verified; null: not yet. In milliseconds since 1970. */
    verifiedAt: number | null;
    /** Counts of files. */
    files: {
        /** Files to delete. */
        requested: number;
        /** Files whose bytes are deleted. */
        deleted: number;
        /** Files that a listing showed to be gone. */
        verified: number;
    };
    /** Bytes, without variants. */
    bytes: {
        /** To delete. */
        requested: number;
        /** Deleted. */
        deleted: number;
    };
    /** Objects that were written meanwhile and deleted too. */
    lateObjects: number;
};
export type OperatedErasure = {
    /** The deletion's id. */
    id: string;
    /** Requested deletions. */
    kind: "file" | "query" | "all";
    /** The tenant of the files; for a file that was never committed, that of the caller. */
    tenant: string;
    /** Whether it deleted private or public files. */
    visibility: "private" | "public";
    /** `deleted`: all bytes are deleted; `verified`: a later listing has none left. */
    state: "deleting" | "deleted" | "verified";
    /** When it was requested. From then on nobody can read the files. In milliseconds since 1970. */
    requestedAt: number;
    /** When the last bytes were deleted; null: not yet. In milliseconds since 1970. */
    deletedAt: number | null;
    /** When it was verified; null: not yet. In milliseconds since 1970. */
    verifiedAt: number | null;
    /** Counts of files. */
    files: {
        /** Files to delete. */
        requested: number;
        /** Files whose bytes are deleted. */
        deleted: number;
        /** Files that a listing showed to be gone. */
        verified: number;
    };
    /** Bytes, without variants. */
    bytes: {
        /** To delete. */
        requested: number;
        /** Deleted. */
        deleted: number;
    };
    /** Objects that were written meanwhile and deleted too. */
    lateObjects: number;
    /** The client that asked, or for which an operator asked. */
    client: string;
};
export type SigningKey = {
    /** The key's id in tokens. */
    kid: string;
    /** Access tokens or ID tokens. */
    alg: "ES256" | "RS256";
    /** `published` before its use, `verifies` after it, `gone` from `/jwks`. */
    state: "published" | "signs" | "verifies" | "gone";
    /** When it was made. In milliseconds since 1970. */
    createdAt: number;
    /** When it begins to sign. In milliseconds since 1970. */
    signsFrom: number;
    /** When it leaves `/jwks`; null: not known yet. In milliseconds since 1970. */
    publishedUntil: number | null;
};
export type SealKey = {
    /** Its name in `SEAL_KEYS`. */
    id: string;
    /** `missing`: something is encrypted with it, but `SEAL_KEYS` lacks it. */
    use: "seals" | "opens" | "missing";
    /** Secrets of identity providers encrypted with it; 1000 means that many or more. */
    identityProviders: number;
    /** Private halves of signing keys encrypted with it. */
    signingKeys: number;
    /** Secrets of people's authenticator apps encrypted with it. */
    secondFactors: number;
    /** Secrets of clients with `client_secret_jwt` encrypted with it. */
    clientSecrets: number;
    /** Credentials of push subscriptions encrypted with it. */
    pushSubscriptions: number;
    /** Nothing lasting is encrypted with it: it may be removed from `SEAL_KEYS` an hour after a new key was put in front. */
    mayGo: boolean;
};
export type Shard = {
    /** Its number; 0 is the directory. */
    shard: number;
    /** Tenants whose files lie there. */
    tenants: number;
    /** Committed files; null: it does not answer. */
    files: number | null;
    /** Their bytes in the bucket; null: it does not answer. */
    storedBytes: number | null;
    /** Push subscriptions of the topics that lie there; null: it does not answer. */
    pushSubscriptions: number | null;
    /** The size of the database, which holds 10 GB. */
    databaseBytes: number;
    /** When that was measured; null: never. In milliseconds since 1970. */
    measuredAt: number | null;
    /** How long its answer took; null: it does not answer. */
    answerMs: number | null;
    /** Round trips of the last hour; null: the metrics do not answer. */
    roundTrips: number | null;
    /** The next new tenant gets it. */
    isNext: boolean;
};
export type TenantMove = {
    /** The tenant. */
    tenant: string;
    /** The shard that it leaves. */
    "from": number;
    /** The shard that it comes to; from 240 on, an object of the tenant's own. */
    to: number;
    /** `cleaning`: it works in the new shard, and old rows are deleted ten minutes later. */
    state: "copying" | "switching" | "opening" | "cleaning" | "done";
    /** The number of files copied so far. */
    files: number;
    /** When it began. In milliseconds since 1970. */
    begunAt: number;
    /** When the last old row was deleted. In milliseconds since 1970. */
    doneAt: number | null;
};
export type TenantObject = {
    /** The number of its shard. */
    "number": number;
    /** The tenant whose files lie there, or lay there before it moved. */
    tenant: string;
    /** The location hint of Cloudflare with which it was made; null: none. */
    near: string | null;
    /** Committed files, as of its last sweep. */
    files: number;
    /** Their bytes in the bucket. */
    bytes: number;
    /** The size of its database, which holds 10 GB. */
    databaseBytes: number;
    /** When a sweep last reported; null: never. In milliseconds since 1970. */
    reportedAt: number | null;
};
export type TenantObjectSums = {
    /** Objects of tenants, those of removed tenants too. */
    objects: number;
    /** Committed files in them. */
    files: number;
    /** Their bytes in the bucket. */
    bytes: number;
    /** The size of their databases. */
    databaseBytes: number;
};
export type Comparison = {
    /** The comparison's id. */
    id: string;
    /** Its progress. */
    state: "running" | "done" | "repairing" | "repaired";
    /** When it was started. In milliseconds since 1970. */
    startedAt: number;
    /** When it ended; null: not yet. In milliseconds since 1970. */
    finishedAt: number | null;
    /** Compared objects and rows. */
    checked: {
        /** Rows of files. */
        files: number;
        /** Rows of variants. */
        variants: number;
        /** Objects of the bucket. */
        objects: number;
    };
    /** Differences by kind. */
    found: {
        /** Bytes without a row. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
        /** Row and bytes have different sizes. */
        sizeDiffers: number;
        /** Row and bytes have different ETags. */
        etagDiffers: number;
    };
    /** Number of stored findings; only the first ones are stored. */
    keptFindings: number;
    /** When its repair was started; null: never. In milliseconds since 1970. */
    repairStartedAt: number | null;
    /** When the repair ended; null: not yet. In milliseconds since 1970. */
    repairedAt: number | null;
    /** Repaired findings by kind. */
    repaired: {
        /** Bytes without a row. */
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
    /** Its progress. */
    state: "running" | "done" | "repairing" | "repaired";
    /** When it was started. In milliseconds since 1970. */
    startedAt: number;
    /** When it ended; null: not yet. In milliseconds since 1970. */
    finishedAt: number | null;
    /** Compared objects and rows. */
    checked: {
        /** Rows of files. */
        files: number;
        /** Rows of variants. */
        variants: number;
        /** Objects of the bucket. */
        objects: number;
    };
    /** Differences by kind. */
    found: {
        /** Bytes without a row. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
        /** Row and bytes have different sizes. */
        sizeDiffers: number;
        /** Row and bytes have different ETags. */
        etagDiffers: number;
    };
    /** Number of stored findings; only the first ones are stored. */
    keptFindings: number;
    /** When its repair was started; null: never. In milliseconds since 1970. */
    repairStartedAt: number | null;
    /** When the repair ended; null: not yet. In milliseconds since 1970. */
    repairedAt: number | null;
    /** Repaired findings by kind. */
    repaired: {
        /** Bytes without a row. */
        orphanObject: number;
        /** Files without bytes. */
        missingBytes: number;
        /** Variants without bytes. */
        missingVariant: number;
    };
    /** A page of findings. */
    findings: {
        /** The kind of difference. */
        kind: "orphanObject" | "missingBytes" | "missingVariant" | "sizeDiffers" | "etagDiffers";
        /** The object's key. */
        key: string;
        /** The file; null: no row names it. */
        fileId: string | null;
        /** The client that owns the file. */
        client: string | null;
        /** The tenant of the file. */
        tenant: string | null;
        /** The row; null: there is none. */
        row: {
            /** In bytes. */
            size: number | null;
            /** Identifies the bytes. */
            etag: string | null;
        } | null;
        /** The object; null: there is none. */
        "object": {
            /** In bytes. */
            size: number | null;
            /** Identifies the bytes. */
            etag: string | null;
        } | null;
        /** The result of its repair; null: not repaired yet. */
        outcome: "repaired" | "obsolete" | null;
    }[];
};
export type AuditRow = {
    /** When. In milliseconds since 1970. */
    at: number;
    /** By which request. */
    requestId: string;
    /** The actor: a client, or `user <address>`; empty if unknown. */
    actor: string;
    /** What was done. */
    action: string;
    /** To what. */
    subject: string;
    /** The outcome. */
    outcome: "done" | "refused";
    /** The exact reason, if there is one. `created`: the record is new. */
    reason?: string;
    /** The changes. An update without a change has no row. */
    changes?: {
        /** The field; the only member for a secret. */
        field: string;
        /** The old value; absent if there was none. */
        "from"?: unknown;
        /** The new value; absent if there is none. */
        to?: unknown;
        /** Elements added to a list: at most 40, then `…and more`. */
        added?: string[];
        /** Elements removed from a list, likewise. */
        removed?: string[];
    }[];
};
export type AuditCopy = {
    /** Counts from 1 on, without a gap. */
    "number": number;
    /** Its key in the bucket. */
    name: string;
    /** Its number of rows. */
    rows: number;
    /** The number of its first row. */
    firstSeq: number;
    /** The number of its last row. */
    lastSeq: number;
    /** The hash of the last line of the previous copy; zeros for the first. */
    previous: string;
    /** The hash of its own last line, from the database. */
    head: string;
    /** When it was written. In milliseconds since 1970. */
    writtenAt: number;
};
export type AuditCopyLines = {
    /** Counts from 1 on, without a gap. */
    "number": number;
    /** Its key in the bucket. */
    name: string;
    /** Its number of rows. */
    rows: number;
    /** The number of its first row. */
    firstSeq: number;
    /** The number of its last row. */
    lastSeq: number;
    /** The hash of the last line of the previous copy; zeros for the first. */
    previous: string;
    /** The hash of its own last line, from the database. */
    head: string;
    /** When it was written. In milliseconds since 1970. */
    writtenAt: number;
    /** Its lines, each ending with its hash. */
    lines: string[];
};
export type MetricSeries = {
    /** The metric's name. */
    metric: "requests" | "request_time" | "wait_time" | "refusals" | "received_bytes" | "sent_bytes" | "tokens_issued" | "tokens_refused" | "events_published" | "events_read" | "events_pushed" | "logouts_told" | "consumer_lag" | "service_failures" | "variants_made" | "jobs" | "job_age" | "sweeps_failed" | "d1_round_trips" | "d1_failures" | "d1_rows_read" | "d1_rows_written" | "shard_round_trips" | "stored_files" | "stored_bytes" | "stored_byte_hours";
    /** `platform`: pages, and addresses where nothing is. */
    service: "oauth" | "events" | "media" | "gateway" | "admin" | "platform";
    /** The value of the metric's label, such as the class of a status. */
    label?: string;
    /** `peak`: the largest value that was seen in a step. */
    kind: "counter" | "histogram" | "peak";
    /** The unit of the values. */
    unit: "1" | "bytes" | "ms" | "byte hours";
    /** One for each step; of a histogram, the number of its values. null: nothing was measured. */
    values: (number | null)[];
    /** The mean of a histogram's values. */
    mean?: (number | null)[];
    /** The median, estimated from the histogram's buckets. */
    p50?: (number | null)[];
    /** 19 of 20 values are at most this. */
    p95?: (number | null)[];
    /** 99 of 100 values are at most this. */
    p99?: (number | null)[];
};
export type Metrics = {
    /** The start of the first step. In milliseconds since 1970. */
    "from": number;
    /** The end of the last step. In milliseconds since 1970. */
    to: number;
    /** The length of a step; days are those of UTC. */
    step: "minute" | "hour" | "day";
    /** The length of a step in milliseconds. */
    stepMs: number;
    /** The tenant; null: everybody. */
    tenant: string | null;
    /** Series with a value in this time, sorted by name; all others are 0. */
    series: MetricSeries[];
};
export type BusiestTenants = {
    /** The start of the time that was added up. In milliseconds since 1970. */
    "from": number;
    /** Its end. In milliseconds since 1970. */
    to: number;
    /** The metric's name. */
    metric: "requests" | "refusals" | "received_bytes" | "sent_bytes" | "tokens_issued" | "tokens_refused" | "events_published" | "events_read" | "events_pushed" | "logouts_told" | "consumer_lag" | "service_failures" | "variants_made" | "jobs" | "job_age" | "sweeps_failed" | "d1_round_trips" | "d1_failures" | "d1_rows_read" | "d1_rows_written" | "shard_round_trips" | "stored_files" | "stored_bytes" | "stored_byte_hours";
    /** The service; null: all of them. */
    service: "oauth" | "events" | "media" | "gateway" | "admin" | "platform" | null;
    /** `peak`: the largest value of the time, not the sum. */
    kind: "counter" | "peak";
    /** The unit of the values. */
    unit: "1" | "bytes" | "ms" | "byte hours";
    /** The largest value first. Tenants without one are left out. */
    tenants: {
        /** The tenant's id. */
        tenant: string;
        /** The sum, or the largest value. */
        value: number;
    }[];
};
export type Backup = {
    /** The backup's id, which begins with its time. */
    id: string;
    /** When it was started: what happened later may be missing. In milliseconds since 1970. */
    startedAt: number;
    /** When its manifest was written. In milliseconds since 1970. */
    finishedAt: number;
    /** `copy`: the bytes of files are copied; `reference`: they are listed. */
    bytes: "reference" | "copy";
    /** Events before this time are left out; null: none. In milliseconds since 1970. */
    eventsSince: number | null;
    /** `PLATFORM` of the deployment that made it. A restore needs the same. */
    platform: string;
    /** The newest migration that the deployment knew. A restore needs this one or a later one. */
    migration: string;
    /** Counts of what the job has done so far. */
    counts: {
        /** Rows of the database. */
        rows: number;
        /** Topics. */
        topics: number;
        /** Events. */
        events: number;
        /** Consumers of topics, with their cursors. */
        consumers: number;
        /** Push subscriptions, with their cursors and retries. */
        pushSubscriptions: number;
        /** Objects of the bucket: files, variants and copies of the audit log. */
        files: number;
        /** Their bytes. */
        fileBytes: number;
        /** Objects that this job copied. */
        copiedFiles: number;
        /** Their bytes. */
        copiedBytes: number;
        /** Parts that the backup consists of. */
        parts: number;
        /** Their bytes. */
        partBytes: number;
        /** Parts that no earlier backup had. */
        newParts: number;
    };
    /** Keys of `SEAL_KEYS` that a restore needs. */
    sealKeys: string[];
};
export type BackupJob = {
    /** The job's id. */
    id: string;
    /** Its kind. */
    kind: "backup" | "verify" | "restore" | "remove";
    /** The client or person that started it. */
    actor: string;
    /** The backup that it makes, reads or removes. */
    backup: string;
    /** `failed`: `error` says why; a repeat would not help. */
    state: "running" | "done" | "failed" | "cancelled";
    /** When it was started. In milliseconds since 1970. */
    startedAt: number;
    /** When it ended; null: not yet. In milliseconds since 1970. */
    finishedAt: number | null;
    /** The present stage. */
    stage: string;
    /** Stages that are done. */
    stagesDone: number;
    /** Stages in all. */
    stages: number;
    options: {
        /** `copy`: the bytes of files are copied; `reference`: they are listed. */
        bytes: "reference" | "copy";
        /** Events before this time are left out; null: none. In milliseconds since 1970. */
        eventsSince: number | null;
        /** The number of backups that are kept; null: all. */
        keep: number | null;
    };
    /** Counts of what the job has done so far. */
    counts: {
        /** Rows of the database. */
        rows: number;
        /** Topics. */
        topics: number;
        /** Events. */
        events: number;
        /** Consumers of topics, with their cursors. */
        consumers: number;
        /** Push subscriptions, with their cursors and retries. */
        pushSubscriptions: number;
        /** Objects of the bucket: files, variants and copies of the audit log. */
        files: number;
        /** Their bytes. */
        fileBytes: number;
        /** Objects that this job copied. */
        copiedFiles: number;
        /** Their bytes. */
        copiedBytes: number;
        /** Parts that the backup consists of. */
        parts: number;
        /** Their bytes. */
        partBytes: number;
        /** Parts that no earlier backup had. */
        newParts: number;
    };
    /** The first findings of a verification or restore. */
    findings: {
        /** The kind of finding. */
        kind: "part_missing" | "part_changed" | "count_differs" | "file_missing" | "file_changed" | "topic_unknown" | "row_dropped";
        /** A table, topic, file or part. */
        subject: string;
    }[];
    /** Number of all findings. */
    findingsInAll: number;
    /** How often the present step has failed in succession. It is tried again. */
    failures: number;
    /** The last error of the present step; empty if there is none. */
    error: string;
};
export type PlatformCheck = {
    /** What this answer is about. */
    checked: {
        /** Topics. */
        topics: number;
        /** Consumers of topics. */
        consumers: number;
        /** Push subscriptions. */
        pushSubscriptions: number;
    };
    findings: {
        /** What does not fit. */
        kind: "topic_without_log" | "cursor_beyond_log" | "push_beyond_log" | "push_without_object";
        /** The topic: `<owner>.<event type>`. */
        topic: string;
        /** The shard, if it is about one. */
        shard: number | null;
        /** The consumer's name, or the id of the push subscription. */
        subject: string | null;
        /** The position up to which it has read. */
        position: number | null;
        /** The position of the log's last event. */
        end: number | null;
        /** What to type. */
        next: string;
    }[];
    /** Pass it as `after` for the next part; null: everything was checked. */
    next: string | null;
};
export type RestorePoint = {
    /** The database was restored to this time; null: never. In milliseconds since 1970. */
    restoredTo: number | null;
    /** The operator said so at this time. In milliseconds since 1970. */
    markedAt: number | null;
    /** Repairs delete no object of the bucket that is younger than `restoredTo`. */
    holds: boolean;
};
export type ReplayStep = {
    /** No copy is left: everything was replayed. */
    done: boolean;
    /** The copy of the audit log that this step read. */
    copy: string | null;
    lines: {
        /** What was removed then, as the audit log names it. */
        subject: string;
        /** When it was removed. In milliseconds since 1970. */
        at: number;
        /** `erased`, `absent`, `made_since` (made after the restore, so it is kept), or why it was refused. */
        outcome: string;
    }[];
};
export type Topic = {
    /** The client that owns the topic; only it can publish. */
    topicOwnerClient: string;
    /** The topic's event type. */
    eventType: string;
    /** The owner's description; may be empty. */
    description: string;
    /** When the topic was created. In milliseconds since 1970. */
    createdAt: number;
    /** The topic's number of logs. Events of one tenant stay in order, as do all events of one shard. */
    shards: number;
    /** `deleting` until its events, cursors and subscriptions are gone. */
    state: "active" | "deleting";
    /** The topic's own address. */
    href: string;
};
export type TopicStatus = {
    /** The client that owns the topic; only it can publish. */
    topicOwnerClient: string;
    /** The topic's event type. */
    eventType: string;
    /** The owner's description; may be empty. */
    description: string;
    /** When the topic was created. In milliseconds since 1970. */
    createdAt: number;
    /** The topic's number of logs. Events of one tenant stay in order, as do all events of one shard. */
    shards: number;
    /** `deleting` until its events, cursors and subscriptions are gone. */
    state: "active" | "deleting";
    /** The topic's own address. */
    href: string;
    /** Number of stored events; null for a caller who sees only its own tenant's. */
    storedEvents: number | null;
    /** When the oldest was published; null: there is none. In milliseconds since 1970. */
    oldestEventAt: number | null;
    /** When the newest was published; null: there is none. In milliseconds since 1970. */
    newestEventAt: number | null;
    /** Events that the caller has not committed; null as above. */
    lag: number | null;
};
export type NewEvent = {
    /** The event's text, at most 256 KiB of UTF-8. */
    payload: string;
    /** Names and texts beside the payload, at most 16 KiB. */
    metadata?: {
        [key: string]: string;
    };
    /** The tenant that the event is about; default: the token's. */
    tenant?: string;
};
export type PublishedIds = {
    /** The ids of the events, in the order of the request. */
    ids: string[];
};
export type Batch = {
    /** The next events, in order. */
    events: Event[];
    /** Commits, extends or releases the batch; absent with `autoCommit`. */
    token?: string;
};
export type Look = {
    /** Stored events, in order of time. */
    events: Event[];
    /** The `after` of the next request; null: this was the end. */
    next: string | null;
};
export type ConsumerName = {
    /** The consumer's name. */
    name: string;
};
export type SubscriptionName = {
    /** The subscription's name, unique for the client on this topic. */
    name: string;
    /** The subscription's own address. */
    href: string;
};
export type NewPushSubscription = {
    /** The subscription's name, unique for the client on this topic. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** The endpoint for the `POST` of each event. */
        endpoint: string;
        /** The platform's authentication at the endpoint. */
        basicAuth: {
            /** Sent as HTTP Basic. */
            username: string;
            /** Always `********`. */
            password: "********";
        };
        /** The endpoint is verified before its first event; absent: it is not. */
        handshake?: boolean;
    };
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: nothing stops it. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
    /** Verifies `webhook-signature`; shown only this once. */
    signingSecret: string;
};
export type PushSubscription = {
    /** The subscription's name, unique for the client on this topic. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** The endpoint for the `POST` of each event. */
        endpoint: string;
        /** The platform's authentication at the endpoint. */
        basicAuth: {
            /** Sent as HTTP Basic. */
            username: string;
            /** Always `********`. */
            password: "********";
        };
        /** The endpoint is verified before its first event; absent: it is not. */
        handshake?: boolean;
    };
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: nothing stops it. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
    /** Events that wait for delivery; null: unknown now. */
    lag: number | null;
    /** Dead letters; null: unknown now. */
    deadLetters: number | null;
    /** Events that retention removed before their delivery; null: unknown now. */
    eventsLost: number | null;
    /** End of the endpoint's pause; null: none. In milliseconds since 1970. */
    pausedUntil: number | null;
    /** Progress of the verification; null: unknown now. While `unverified` and `failed`. */
    verification?: {
        /** Number of verification attempts. */
        attempts: number;
        /** Reason of the last failed verification: as for deliveries, or 2xx without the challenge; null: none yet. */
        lastError: "status" | "timeout" | "unreachable" | "redirect" | "refused" | "no_challenge" | null;
        /** When the next verification comes; null: never. In milliseconds since 1970. */
        nextAttemptAt: number | null;
    } | null;
};
export type SigningSecret = {
    /** Verifies `webhook-signature`; shown only this once. */
    signingSecret: string;
    /** When the last secret ends; null: it has ended. In milliseconds since 1970. */
    previousValidUntil: number | null;
};
export type Subscriber = {
    /** Identifies the subscription among those of the topic. */
    id: string;
    /** The client that made it. */
    client: string;
    /** Its name, unique for that client. */
    name: string;
    /** Scheme, host and port of its endpoint. */
    endpointOrigin: string;
    /** By which right it was made. */
    right: "owner" | "scope";
    /** `unverified`: the endpoint is asked whether it wants the events, and they wait; `failed`: it did not say so; `disabled`: it answered 410. An update enables it, or has the endpoint asked again. */
    state: "active" | "unverified" | "failed" | "disabled";
    /** The right by which it was made is gone, so nothing is delivered: the client or a tenant of it is disabled, the client is not the topic's owner any more, or lists no scope of the topic any more; null: nothing stops it. */
    halt: "client_disabled" | "tenant_disabled" | "owner_changed" | "scope_lost" | null;
    /** When it was created. In milliseconds since 1970. */
    createdAt: number;
    /** When it was changed last. In milliseconds since 1970. */
    updatedAt: number;
};
export type NewFile = {
    /** The file's id: 24 hex digits. */
    id: string;
    /** For the upload by `PUT` with the declared content type; valid for one hour. */
    uploadLink: string;
    /** For the commit by `POST`. */
    commitLink: string;
};
export type Variant = {
    /** `clip` fits into the size; `crop` fills it and cuts around the centre. */
    "type": "clip" | "crop";
    /** As requested, for example `300x200`. */
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
    /** As declared. */
    "Content-Type": string;
    /** Its length in bytes. */
    size: number;
    /** Identifies its bytes. */
    etag: string;
    /** The name from its upload; null: none. */
    fileName: string | null;
    /** The tenant that it belongs to. */
    tenant: string;
    /** The client that it belongs to, in a list of shared files. */
    client?: string;
    /** Who shares it, in a list of shared files. */
    shared?: "tenant";
    /** When its upload link was made. In milliseconds since 1970. */
    createdAt: number;
    /** When it was committed. In milliseconds since 1970. */
    committedAt: number;
    /** Any JSON object, stored as sent. */
    metadata: {
        [key: string]: unknown;
    };
    /** Its variants. */
    variants: Variant[];
    /** Its content, of public files. */
    link?: string;
};
export type FileLink = {
    /** The content, for 15 minutes. */
    link: string;
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
export function getErrorReference({ error, request }: {
    error?: string;
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
        error,
        request
    }))}`, {
        ...opts
    });
}
/**
 * Fetch what the pages load: the stylesheet and the script, whose names are digests of their content, and the icon
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
 * Find the platform's parts: a page for people, links for clients
 */
export function getStart(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Start;
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
    }>("/", {
        ...opts
    });
}
/**
 * Go to the address that is meant
 */
export function getFavicon(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 302;
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
    }>("/favicon.ico", {
        ...opts
    });
}
/**
 * Read the documentation, for people
 */
export function getDocumentation({ ifNoneMatch }: {
    ifNoneMatch?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
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
    }>("/docs", {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "If-None-Match": ifNoneMatch
        })
    });
}
/**
 * Find the pages of the documentation as Markdown, for programs
 */
export function getPagesForPrograms({ ifNoneMatch }: {
    ifNoneMatch?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
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
    }>("/llms.txt", {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "If-None-Match": ifNoneMatch
        })
    });
}
/**
 * Open the console, for people
 */
export function getConsole({ ifNoneMatch }: {
    ifNoneMatch?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
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
    }>("/console", {
        ...opts,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "If-None-Match": ifNoneMatch
        })
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
    /** The grant type, for which the client must be registered. */
    grant_type: "client_credentials" | "authorization_code" | "refresh_token" | "password" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange";
    /** Scopes, separated by spaces. Without any, or with only a tenant or organization: every scope that the client lists and that can be granted now. With a code or a refresh token, it narrows the authorized scopes. */
    scope?: string;
    /** `authorization_code`: the code. It is valid for 60 s and works once. */
    code?: string;
    /** `authorization_code`: as in the authorization request; absent if it was absent there. */
    redirect_uri?: string;
    /** `authorization_code`: the verifier of the `code_challenge` (PKCE). */
    code_verifier?: string;
    /** Token exchange: the token that the gateway gave to the service (RFC 8693). */
    subject_token?: string;
    /** Token exchange: `urn:ietf:params:oauth:token-type:access_token`. */
    subject_token_type?: string;
    /** Device grant: the `device_code` of `/device_authorization`. */
    device_code?: string;
    /** `refresh_token`: the token. A client without a secret gets a new one at each use. */
    refresh_token?: string;
    /** `password`: the user's e-mail. */
    username?: string;
    /** `password`: the user's password. */
    password?: string;
    /** `password`: the user's directory. */
    plat_id_provider?: "legacy_idp";
    /** The address of a service that may receive the token, of the platform or behind the gateway (RFC 8707). May be repeated. Without any, the token is for all services that were authorized, or for the whole platform. */
    resource?: string;
    /** The caller's name for its session, for the log. The header of the same name wins. */
    "plat-session-id"?: string;
    /** The client, unless it authenticates by HTTP Basic. */
    client_id?: string;
    /** Its secret, unless it authenticates by HTTP Basic. */
    client_secret?: string;
    /** With `client_assertion`. */
    client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    /** A signed assertion (RFC 7523), for clients registered with `private_key_jwt` or `client_secret_jwt`. It works once. */
    client_assertion?: string;
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
 * Describe an access token
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
    /** One token, or several separated by commas. */
    token: string;
    /** Accepted, and not needed. */
    token_type_hint?: string;
    /** The client, unless it authenticates by HTTP Basic. */
    client_id?: string;
    /** Its secret, unless it authenticates by HTTP Basic. */
    client_secret?: string;
    /** With `client_assertion`. */
    client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    /** A signed assertion (RFC 7523), for clients registered with `private_key_jwt` or `client_secret_jwt`. It works once. */
    client_assertion?: string;
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
 * Describe a token to a client
 */
export function introspectToken(body: {
    /** An access token or a refresh token. */
    token: string;
    /** Accepted, and not needed. */
    token_type_hint?: string;
    /** The client, unless it authenticates by HTTP Basic. */
    client_id?: string;
    /** Its secret, unless it authenticates by HTTP Basic. */
    client_secret?: string;
    /** With `client_assertion`. */
    client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    /** A signed assertion (RFC 7523), for clients registered with `private_key_jwt` or `client_secret_jwt`. It works once. */
    client_assertion?: string;
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
 * Begin a sign-in for a device without a browser
 */
export function authorizeDevice(body?: {
    /** Scopes, separated by spaces. Without any, or with only a tenant or organization: every scope that the client lists and that can be granted now. */
    scope?: string;
    /** The client, unless it authenticates by HTTP Basic. */
    client_id?: string;
    /** Its secret, unless it authenticates by HTTP Basic. */
    client_secret?: string;
    /** With `client_assertion`. */
    client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    /** A signed assertion (RFC 7523), for clients registered with `private_key_jwt` or `client_secret_jwt`. It works once. */
    client_assertion?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: DeviceAuthorization;
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
    }>("/oauth2/v1/device_authorization", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Push an authorization request
 */
export function pushAuthorizationRequest(body: {
    /** The kind of response. Ignored beside a `request_uri`. */
    response_type: "code" | "token" | "id_token" | "id_token token" | "token id_token";
    /** The target of the response, as registered. Optional if only one is registered. */
    redirect_uri?: string;
    /** Scopes, separated by spaces. Without any, or with only a tenant or organization: every scope that the client lists and that can be granted now. `openid` requests an ID token too. */
    scope?: string;
    /** Returned unchanged. It binds the response to the browser. At most 4096 characters. */
    state?: string;
    /** `query` for codes, `fragment` for tokens, or `form_post` for either: a form that the browser posts. */
    response_mode?: string;
    /** Repeated in the ID token. Required for `id_token` and `id_token token`. */
    nonce?: string;
    /** PKCE (RFC 7636). Required for clients without a secret, and for those registered as requiring it. */
    code_challenge?: string;
    /** How the challenge was derived. The default is `plain`. */
    code_challenge_method?: "S256" | "plain";
    /** `none`: show no page. `login`: ask the user to sign in again. `select_account`: let a signed-in user who cannot get these scopes sign in as another. `consent`: ask for consent again, for clients that need it. */
    prompt?: string;
    /** The maximum age of the sign-in in seconds. */
    max_age?: number;
    /** A JSON object of requested claims (OpenID Connect Core 5.5). A claim requests its scope, `profile` or `email`; `acr` requests a kind of sign-in. */
    claims?: string;
    /** The requested kinds of sign-in, the preferred one first: one factor, or two. */
    acr_values?: string;
    /** `true`: the user chooses the tenant, also in the code flow, if `scope` names none and several fit. */
    tenant_choice?: "true" | "false";
    /** The expected user's e-mail. */
    login_hint?: string;
    /** An ID token of this client for the expected user. Any other user is refused. While its session and grant are valid, no page is shown. The tokens then have no scope beyond the grant's and end with the ID token, and there is no refresh token. */
    id_token_hint?: string;
    /** Languages of the page, the preferred one first (BCP 47). */
    ui_locales?: string;
    /** The address of a service that may receive the token, of the platform or behind the gateway (RFC 8707). May be repeated. Without any, the token is for all services that were authorized, or for the whole platform. */
    resource?: string;
    /** The thumbprint of the key that must redeem the code (RFC 9449). */
    dpop_jkt?: string;
    /** `popup`: a page for a small window. */
    display?: "page" | "popup";
    /** The identity provider: `default_idp`, `legacy_idp` (one directory), or the id of a registered provider. */
    plat_id_provider?: string;
    /** The caller's name for its session, for the log. Tokens carry the platform's own session id. */
    "plat-session-id"?: string;
    /** The client, unless it authenticates by HTTP Basic. */
    client_id?: string;
    /** Its secret, unless it authenticates by HTTP Basic. */
    client_secret?: string;
    /** With `client_assertion`. */
    client_assertion_type?: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    /** A signed assertion (RFC 7523), for clients registered with `private_key_jwt` or `client_secret_jwt`. It works once. */
    client_assertion?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: PushedRequest;
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
    }>("/oauth2/v1/par", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Register the calling client
 */
export function registerClient(body: {
    /** Addresses with https at no host of the platform, or with http on a loopback host. */
    redirect_uris: string[];
    /** The client's name, which people see. */
    client_name?: string;
    /** `authorization_code`, and optionally `refresh_token`. */
    grant_types?: string[];
    /** `none` or `private_key_jwt`. */
    token_endpoint_auth_method?: string;
    /** The client's public keys. */
    jwks?: object;
    /** The address of the public keys. */
    jwks_uri?: string;
    [key: string]: unknown;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: RegisteredClient;
    } | {
        status: 400;
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
    }>("/oauth2/v1/register", oazapfts.json({
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
 * List the user's refresh tokens of the calling client, newest first
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
 * Delete all of the user's refresh tokens of the calling client
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
 * Delete one of the user's refresh tokens of the calling client
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
export function authorize(responseType: "code" | "token" | "id_token" | "id_token token" | "token id_token", clientId: string, { redirectUri, scope, state, responseMode, nonce, codeChallenge, codeChallengeMethod, prompt, maxAge, claims, acrValues, tenantChoice, loginHint, idTokenHint, uiLocales, resource, dpopJkt, requestUri, display, platIdProvider, platSessionId, platSessionIdHeader }: {
    redirectUri?: string;
    scope?: string;
    state?: string;
    responseMode?: string;
    nonce?: string;
    codeChallenge?: string;
    codeChallengeMethod?: "S256" | "plain";
    prompt?: string;
    maxAge?: number;
    claims?: string;
    acrValues?: string;
    tenantChoice?: "true" | "false";
    loginHint?: string;
    idTokenHint?: string;
    uiLocales?: string;
    resource?: string;
    dpopJkt?: string;
    requestUri?: string;
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
        claims,
        acr_values: acrValues,
        tenant_choice: tenantChoice,
        login_hint: loginHint,
        id_token_hint: idTokenHint,
        ui_locales: uiLocales,
        resource,
        dpop_jkt: dpopJkt,
        request_uri: requestUri,
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
    /** The kind of response. Ignored beside a `request_uri`. */
    response_type: "code" | "token" | "id_token" | "id_token token" | "token id_token";
    /** The client. */
    client_id: string;
    /** The target of the response, as registered. Optional if only one is registered. */
    redirect_uri?: string;
    /** Scopes, separated by spaces. Without any, or with only a tenant or organization: every scope that the client lists and that can be granted now. `openid` requests an ID token too. */
    scope?: string;
    /** Returned unchanged. It binds the response to the browser. At most 4096 characters. */
    state?: string;
    /** `query` for codes, `fragment` for tokens, or `form_post` for either: a form that the browser posts. */
    response_mode?: string;
    /** Repeated in the ID token. Required for `id_token` and `id_token token`. */
    nonce?: string;
    /** PKCE (RFC 7636). Required for clients without a secret, and for those registered as requiring it. */
    code_challenge?: string;
    /** How the challenge was derived. The default is `plain`. */
    code_challenge_method?: "S256" | "plain";
    /** `none`: show no page. `login`: ask the user to sign in again. `select_account`: let a signed-in user who cannot get these scopes sign in as another. `consent`: ask for consent again, for clients that need it. */
    prompt?: string;
    /** The maximum age of the sign-in in seconds. */
    max_age?: number;
    /** A JSON object of requested claims (OpenID Connect Core 5.5). A claim requests its scope, `profile` or `email`; `acr` requests a kind of sign-in. */
    claims?: string;
    /** The requested kinds of sign-in, the preferred one first: one factor, or two. */
    acr_values?: string;
    /** `true`: the user chooses the tenant, also in the code flow, if `scope` names none and several fit. */
    tenant_choice?: "true" | "false";
    /** The expected user's e-mail. */
    login_hint?: string;
    /** An ID token of this client for the expected user. Any other user is refused. While its session and grant are valid, no page is shown. The tokens then have no scope beyond the grant's and end with the ID token, and there is no refresh token. */
    id_token_hint?: string;
    /** Languages of the page, the preferred one first (BCP 47). */
    ui_locales?: string;
    /** The address of a service that may receive the token, of the platform or behind the gateway (RFC 8707). May be repeated. Without any, the token is for all services that were authorized, or for the whole platform. */
    resource?: string;
    /** The thumbprint of the key that must redeem the code (RFC 9449). */
    dpop_jkt?: string;
    /** A reference from `/par`, in place of all other parameters but `client_id`. */
    request_uri?: string;
    /** `popup`: a page for a small window. */
    display?: "page" | "popup";
    /** The identity provider: `default_idp`, `legacy_idp` (one directory), or the id of a registered provider. */
    plat_id_provider?: string;
    /** The caller's name for its session, for the log. Tokens carry the platform's own session id. */
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
 * Sign in, with the form of the sign-in page
 */
export function signIn(body: {
    /** The authorization request, as a query. */
    request: string;
    /** Binds the form to the browser. */
    csrf?: string;
    /** The user's e-mail. */
    email?: string;
    /** The password. */
    password?: string;
    /** The challenge of the page, for a passkey. */
    challenge?: string;
    /** The answer of a passkey, as JSON from the page's script, in place of address and password. */
    credential?: string;
    /** `address`: the form asked for the address alone. Its domain may lead to a provider. */
    step?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/sign-in", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Show a second factor, with the form of its page
 */
export function secondFactor(body: {
    /** The authorization request, as a query. */
    request: string;
    /** A one-time code of the authenticator app. */
    code?: string;
    /** A recovery code, in place of a one-time code. */
    recovery_code?: string;
    /** The new secret, encrypted, if an app is set up. */
    offer?: string;
    /** The challenge of the page, for a passkey. */
    challenge?: string;
    /** The answer of a passkey, as JSON from the page's script. */
    credential?: string;
    /** Binds the form to the sign-in. */
    csrf?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/second-factor", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Allow or deny a client the scopes that it requests, with the form of the consent page
 */
export function consent(body: {
    /** The authorization request, as a query. */
    request: string;
    /** The person's decision. */
    decision: "allow" | "deny";
    /** The shown scopes. */
    asked?: string;
    /** Binds the form to the sign-in and the shown scopes. */
    csrf?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/consent", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * The page that asks for the code of a device
 */
export function showDevicePage(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/device", {
        ...opts
    });
}
/**
 * Enter the code of a device, with the form of its page
 */
export function enterDeviceCode(body: {
    /** The code as the person typed it. */
    user_code: string;
    /** Binds the form to the browser. */
    csrf?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/device", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Continue a sign-in when the browser returns from an identity provider
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
 * Confirm by password that an account at an identity provider is the user's
 */
export function linkIdentity(body: {
    /** The provider's claims and the request. */
    vouched: string;
    /** The password on this platform. */
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
    /** The client. `post_logout_redirect_uri` needs it, or an `id_token_hint`. */
    client_id?: string;
    /** An ID token of the client, possibly expired. */
    id_token_hint?: string;
    /** The address to which the browser returns, as registered for the client. */
    post_logout_redirect_uri?: string;
    /** Returned unchanged. */
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
 * Show the page for a forgotten password
 */
export function openForgotPassword(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/forgot", {
        ...opts
    });
}
/**
 * Ask for a link to choose a new password
 */
export function forgotPassword(body?: {
    /** The authorization request, as a query. */
    request?: string;
    /** Binds the form to the browser. */
    csrf?: string;
    /** The address of the account. */
    email?: string;
    /** Present: send the link. Absent: show the page that asks for the address. */
    send?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/forgot", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Open the link for a new password
 */
export function openResetLink(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/reset", {
        ...opts
    });
}
/**
 * Choose a new password
 */
export function resetPassword(body: {
    /** The token of the link. */
    token: string;
    /** Binds the form to the browser. */
    csrf?: string;
    /** 8 to 256 characters. */
    new_password?: string;
    /** The new password again. */
    repeated_password?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/reset", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Open the link that verifies an address
 */
export function openVerifyLink(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/verify", {
        ...opts
    });
}
/**
 * Verify an address
 */
export function verifyAddress(body: {
    /** The token of the link. */
    token: string;
    /** Binds the form to the browser. */
    csrf?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/verify", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Open an invitation
 */
export function openInvitation(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/invitation", {
        ...opts
    });
}
/**
 * Accept an invitation
 */
export function acceptInvitation(body: {
    /** The token of the link. */
    token: string;
    /** Binds the form to the browser. */
    csrf?: string;
    /** 8 to 256 characters. */
    new_password?: string;
    /** The new password again. */
    repeated_password?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText("/oauth2/v1/invitation", oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * The account page, or the sign-in for it
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
 * Sign in to the account page
 */
export function signInToAccount(body?: {
    /** Binds the form to the browser. */
    csrf?: string;
    /** The user's e-mail. */
    email?: string;
    /** The password. */
    password?: string;
    /** `address`: the form asked for the address alone. */
    step?: string;
    /** The challenge of the page, for a passkey. */
    challenge?: string;
    /** The answer of a passkey, as JSON from the page's script. */
    credential?: string;
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
 * End the access of an application
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
    /** The new password: 8 to 256 characters, not a common one, and not the address. */
    new_password?: string;
    /** The new password again. */
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
 * Send a link that verifies the address
 */
export function askToVerifyAddress(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/verify-address${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * End a session of the user
 */
export function endSessionOfAccount(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The session's id. */
    session?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/end-session${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Show the second factor to the account page
 */
export function enterAccountCode(body?: {
    /** A one-time code of the authenticator app. */
    code?: string;
    /** A recovery code, in place of a one-time code. */
    recovery_code?: string;
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The challenge of the page, for a passkey. */
    challenge?: string;
    /** The answer of a passkey, as JSON from the page's script. */
    credential?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/second-factor${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Begin to set up a second factor
 */
export function offerSecondFactor(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/second-factor/set-up${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Set up a second factor
 */
export function confirmSecondFactor(body?: {
    /** The first code of the new secret. */
    code?: string;
    /** The password, if the person has one. */
    password?: string;
    /** The new secret, encrypted. */
    offer?: string;
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/second-factor/confirm${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Get new recovery codes
 */
export function renewRecoveryCodes(body?: {
    /** A one-time code of the authenticator app. */
    code?: string;
    /** A recovery code, in place of a one-time code. */
    recovery_code?: string;
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/second-factor/recovery${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Remove the second factor
 */
export function removeSecondFactor(body?: {
    /** A one-time code of the authenticator app. */
    code?: string;
    /** A recovery code, in place of a one-time code. */
    recovery_code?: string;
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/second-factor/remove${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Begin to add a passkey
 */
export function newPasskey(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/passkeys/new${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Add a passkey
 */
export function addPasskey(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The challenge of the page, for a passkey. */
    challenge?: string;
    /** The answer of a passkey, as JSON from the page's script. */
    credential?: string;
    /** The id of the person for authenticators, encrypted. */
    user_handle?: string;
    /** The person's name for the passkey, at most 60 characters. */
    name?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/passkeys/add${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Rename a passkey
 */
export function renamePasskey(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The passkey's id. */
    passkey?: string;
    /** The new name. */
    name?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/passkeys/rename${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Remove a passkey
 */
export function removePasskey(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The passkey's id. */
    passkey?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/passkeys/remove${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Link an account at an identity provider
 */
export function linkProvider(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The provider's id. */
    provider?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/link${QS.query(QS.explode({
        ui_locales: uiLocales
    }))}`, oazapfts.form({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Unlink an account at an identity provider
 */
export function unlinkProvider(body?: {
    /** Binds the form to the browser's session. */
    csrf?: string;
    /** The provider's id. */
    provider?: string;
}, { uiLocales }: {
    uiLocales?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchText(`/account/unlink${QS.query(QS.explode({
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
 * Check the platform's parts: database, bucket, objects, backups, queue, sweeps, outbox, deletions, sizes
 */
export function getDeepHealth(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: DeepHealth;
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
        data: DeepHealth | Error;
    }>("/health/deep", {
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
        status: 412;
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
        status: 412;
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
export function listTenants({ q, pageNumber, pageSize, cursor }: {
    q?: string;
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
        q,
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
    /** Nobody gets tokens for it. If absent, it is unchanged; false for a new one. */
    disabled?: boolean;
    /** Its quota; an absent limit means none. If absent, it is unchanged; `{}` removes it. */
    quota?: {
        /** The most files. */
        files?: number;
        /** The most bytes. */
        bytes?: number;
    };
    /** Its plan, which sets its limit of requests a minute. */
    plan?: "small" | "standard" | "large";
    /** Its look on pages for people and in mails. If absent, it is unchanged; `{}` removes it. */
    brand?: {
        /** The name in the pages' head, at most 60 characters on one line. The host stays beside it. */
        name?: string;
        /** The logo there: https, at most 500 characters. Browsers and mail programs fetch it from there. */
        logoUri?: string;
        /** The colour of buttons and links, `#rrggbb`. Its contrast to what is around it must be 4.5:1 (WCAG AA). */
        accentColor?: string;
        /** The same in the dark theme. If empty, a lighter tone is made. */
        accentColorDark?: string;
        /** Its terms: https, at most 500 characters. */
        termsUri?: string;
        /** Its privacy policy, likewise. */
        privacyUri?: string;
    };
    /** People get tokens after two factors alone. If absent, it is unchanged; false for a new one. */
    requireSecondFactor?: boolean;
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
        status: 412;
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
        status: 412;
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
 * Show what the tenant stores and its quota, and what it used in a month
 */
export function getTenantUsage(id: string, { month }: {
    month?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/usage${QS.query(QS.explode({
        month
    }))}`, {
        ...opts
    });
}
/**
 * List every user
 */
export function listUsers({ q, pageNumber, pageSize, cursor }: {
    q?: string;
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
        q,
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
    /** For people; default: the address. */
    name?: string;
    /** The address of a picture: https, at most 500 characters. Applications get it with the scope `profile`. If absent, it is unchanged; empty: none. */
    picture?: string;
    /** The language (BCP 47), such as `de-CH`, likewise. */
    locale?: string;
    /** 8 to 256 characters; if absent, it is unchanged. */
    password?: string;
    /** The user cannot sign in. If absent, it is unchanged; false for a new one. */
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
        status: 412;
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
        status: 412;
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
 * Remove the user's second factor and its recovery codes
 */
export function removeUserSecondFactor(email: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/users/${encodeURIComponent(email)}/second-factor`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List the user's passkeys
 */
export function listUserPasskeys(email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Passkey[];
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
    }>(`/admin/v1/users/${encodeURIComponent(email)}/passkeys`, {
        ...opts
    });
}
/**
 * Remove a passkey of the user
 */
export function removeUserPasskey(email: string, passkey: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/users/${encodeURIComponent(email)}/passkeys/${encodeURIComponent(passkey)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List the browsers in which the user is signed in
 */
export function listUserSessions(email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: UserSession[];
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
    }>(`/admin/v1/users/${encodeURIComponent(email)}/sessions`, {
        ...opts
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
        status: 412;
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
        status: 412;
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
    /** Names of roles; the user gets their scopes. */
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
        status: 412;
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
        status: 412;
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
    /** Names of roles; the user gets their scopes. */
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
        status: 412;
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
        status: 412;
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
 * List every tenant invitation
 */
export function listTenantInvitations(id: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantInvitation[];
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/invitations${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the tenant invitation
 */
export function putTenantInvitation(id: string, email: string, body: {
    /** Names of roles; the user gets their scopes. */
    roles: string[];
    /** The name of a new account; default: the address. */
    name?: string;
    /** The language of the mail and the page; default: English, and that of the browser. */
    language?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SentTenantInvitation;
    } | {
        status: 201;
        data: SentTenantInvitation;
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
        status: 412;
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the tenant invitation
 */
export function getTenantInvitation(id: string, email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantInvitation;
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}`, {
        ...opts
    });
}
/**
 * Remove the tenant invitation
 */
export function deleteTenantInvitation(id: string, email: string, opts?: Oazapfts.RequestOpts) {
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
        status: 412;
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List every organization invitation
 */
export function listOrganizationInvitations(id: string, { pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OrganizationInvitation[];
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
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/invitations${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Make or replace the organization invitation
 */
export function putOrganizationInvitation(id: string, email: string, body: {
    /** Names of roles; the user gets their scopes. */
    roles: string[];
    /** The name of a new account; default: the address. */
    name?: string;
    /** The language of the mail and the page; default: English, and that of the browser. */
    language?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SentOrganizationInvitation;
    } | {
        status: 201;
        data: SentOrganizationInvitation;
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
        status: 412;
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
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Show the organization invitation
 */
export function getOrganizationInvitation(id: string, email: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OrganizationInvitation;
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
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}`, {
        ...opts
    });
}
/**
 * Remove the organization invitation
 */
export function deleteOrganizationInvitation(id: string, email: string, opts?: Oazapfts.RequestOpts) {
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
        status: 412;
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
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Invite a person by a link that you hand over
 */
export function makeInvitationLink(id: string, email: string, body: {
    /** Roles of the member. */
    roles: string[];
    /** The name of a new account; default: the address. */
    name?: string;
    /** The language of the page; default: that of the browser. */
    language?: string;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** The page that asks for a password. */
            link: string;
            /** When the link ends. In milliseconds since 1970. */
            expiresAt: number;
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
    }>(`/admin/v1/organizations/${encodeURIComponent(id)}/invitations/${encodeURIComponent(email)}/link`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
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
    /** The scopes that it gives. */
    scopes: string[];
    /** Its holders get tokens after two factors alone. If absent, it is unchanged; false for a new one. */
    requireSecondFactor?: boolean;
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
        status: 412;
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
        status: 412;
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
export function listClients({ q, tenant, pageNumber, pageSize, cursor }: {
    q?: string;
    tenant?: string;
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
        q,
        tenant,
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
    /** Owns topics and files, `<project>.<app>`; default: the id. No other client may have it. */
    name?: string;
    /** Its name on pages for people; default: `name`. */
    displayName?: string;
    /** Its logo on these pages: https, or data of a png, jpeg, gif or webp, at most 8,000 characters. */
    logoUri?: string;
    /** Its look on pages for people and in mails. If absent, it is unchanged; `{}` removes it. */
    brand?: {
        /** The name in the pages' head, at most 60 characters on one line. The host stays beside it. */
        name?: string;
        /** The logo there: https, at most 500 characters. Browsers and mail programs fetch it from there. */
        logoUri?: string;
        /** The colour of buttons and links, `#rrggbb`. Its contrast to what is around it must be 4.5:1 (WCAG AA). */
        accentColor?: string;
        /** The same in the dark theme. If empty, a lighter tone is made. */
        accentColorDark?: string;
        /** Its terms: https, at most 500 characters. */
        termsUri?: string;
        /** Its privacy policy, likewise. */
        privacyUri?: string;
    };
    /** Its parent tenant. */
    tenant: string;
    /** It has a secret. */
    confidential: boolean;
    /** The registered service whose client it is. */
    service?: string;
    /** Redirect URIs of sign-ins: https, http on a loopback host, or a private-use scheme; at most 50. */
    redirectUris?: string[];
    /** Redirect URIs of sign-outs, likewise. */
    postLogoutRedirectUris?: string[];
    /** Its grant types. */
    grantTypes: ("client_credentials" | "authorization_code" | "refresh_token" | "implicit" | "password" | "urn:ietf:params:oauth:grant-type:device_code" | "urn:ietf:params:oauth:grant-type:token-exchange")[];
    /** Scopes that it may request; `*` at the end matches any ending. */
    scopes: string[];
    /** Codes need PKCE. Always so without a secret. If absent, it is unchanged; false for a new one. */
    requirePkce?: boolean;
    /** Keeps people's files apart: a person reaches only the files that their own token created, and shared ones. The client's own token reaches all. If absent, it is unchanged; false for a new one. */
    filesPerUser?: boolean;
    /** People are asked before it gets access, by tenant and scopes. It has no password grant. See the guide on sign-in. If absent, it is unchanged; false for a new one. */
    thirdParty?: boolean;
    /** People get tokens after two factors alone. If absent, it is unchanged; false for a new one. */
    requireSecondFactor?: boolean;
    /** Where it is told that a session of a person ended, by a logout token (OpenID Connect Back-Channel Logout). https at a public host. Empty: it is not told. If absent, it is unchanged. */
    backchannelLogoutUri?: string;
    /** It wants the session's id (`sid`) in logout tokens. They always have it. If absent, it is unchanged; false for a new one. */
    backchannelLogoutSessionRequired?: boolean;
    /** `client_secret`, or assertions that it signs (RFC 7523): `client_secret_jwt` with its secret, which is stored encrypted, or `private_key_jwt`, for which it has no secret. If absent, it is unchanged; `client_secret` for a new one, and for one that is not confidential any more. */
    authMethod?: "client_secret" | "client_secret_jwt" | "private_key_jwt";
    /** Its authorization requests come through `/par` alone (RFC 9126). If absent, it is unchanged; false for a new one. */
    requirePushedAuthorizationRequests?: boolean;
    /** Its access tokens are bound to keys that it proves (DPoP, RFC 9449). If absent, it is unchanged; false for a new one. */
    dpopBoundAccessTokens?: boolean;
    /** `fapi2`: the FAPI 2.0 Security Profile. It needs `private_key_jwt`; pushed requests, PKCE with S256 and bound tokens follow. If absent, it is unchanged; `none` for a new one. */
    securityProfile?: "none" | "fapi2";
    /** `private_key_jwt`: its public keys, a JSON Web Key Set as text, at most 32 KiB. If absent, they stay, unless `jwksUri` replaces them or `authMethod` changes. */
    jwks?: string;
    /** `private_key_jwt`, without `jwks`: the address of its public keys. They are fetched within 10 minutes. If absent, it stays, unless `jwks` replaces it or `authMethod` changes. */
    jwksUri?: string;
    /** 32 to 256 visible ASCII characters; if absent, the secret stays, or one is generated. */
    clientSecret?: string;
    /** It gets no tokens. If absent, it is unchanged; false for a new one. */
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
        status: 412;
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
        status: 412;
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
 * List logout tokens that a client has still to get, or never got; by state
 */
export function listLogoutDeliveries(clientId: string, { state, pageNumber, pageSize, cursor }: {
    state?: "pending" | "dead";
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: LogoutDelivery[];
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
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}/logout-deliveries${QS.query(QS.explode({
        state,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Send the logout tokens again that a client never got, and those of a silent endpoint at once
 */
export function redeliverLogouts(clientId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** Logout tokens. */
            redelivered: number;
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
    }>(`/admin/v1/clients/${encodeURIComponent(clientId)}/logout-deliveries/redeliver`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List the clients that nobody registered and that people came with, or that registered themselves; by kind
 */
export function listUnregisteredClients({ kind, pageNumber, pageSize, cursor }: {
    kind?: "document" | "registered";
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: UnregisteredClient[];
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
    }>(`/admin/v1/unregistered-clients${QS.query(QS.explode({
        kind,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Remove a client that nobody registered, with every token and grant that it has
 */
export function removeUnregisteredClient(clientId: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/unregistered-clients/${encodeURIComponent(clientId)}`, {
        ...opts,
        method: "DELETE"
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
    /** Its private address: https, a public host, no query. */
    sourceUrl: string;
    /** Its public path at the gateway, apart from the platform's own paths. */
    proxyPath: string;
    /** Its scopes; `*` at the end matches any ending. Not one of the platform's. */
    scopes: string[];
    /** Words for people, by scope: what an application may do with it. They appear on the page of consent. Each at most 200 characters on one line; together 16,000. */
    scopeDescriptions?: {
        [key: string]: string;
    };
    /** Tenants need no subscription. */
    essential?: boolean;
    /** The tenant that owns it. */
    tenant: string;
    /** `token`: the gateway requires a valid token. `public`: a token is optional. */
    access: "token" | "public";
    /** It also gets the original tokens of other tenants' callers, which are valid on the whole platform; otherwise it gets a token only for itself. */
    forwardAuthorization?: boolean;
    /** Its pages and cookies share the platform's origin; otherwise a sandbox and its path isolate them. */
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
        status: 412;
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
        status: 412;
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
        status: 412;
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
        status: 412;
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
        status: 412;
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
        status: 412;
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
    /** The client secret there, kept encrypted; if absent or `********`, it stays, unless the issuer changes. */
    clientSecret?: string;
    /** Scopes requested from it, including `openid`. */
    scopes?: string[];
    /** Tenants that sign-ins by it can reach; if absent, they stay; `[]`: all. */
    tenants?: string[];
    /** E-mail domains that it may vouch for, without subdomains; if absent, they stay. */
    domains?: string[];
    /** Who links a user to an account there at the first sign-in: the user by the password here (`confirm`), an operator beforehand (`operator`), or the provider by the verified address (`verified_email`, which needs `domains`). If absent, it is unchanged. */
    linking?: "confirm" | "operator" | "verified_email";
    /** Its addresses count as verified if it sends no `email_verified`. Only for a provider that verifies them all, such as another Plinth of yours. If absent, it is unchanged. */
    trustEmail?: boolean;
    /** Its name on the sign-in page, `Continue with …`; empty: no button. If absent, it is unchanged. */
    button?: string;
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
        status: 412;
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
        status: 412;
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
 * Test an identity provider: secret, discovery, keys, and whether it knows the platform's client
 */
export function testIdentityProvider(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ProviderTrial;
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
    }>(`/admin/v1/identity-providers/${encodeURIComponent(id)}/test`, {
        ...opts,
        method: "POST"
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
 * How the deliveries of a push subscription stand
 */
export function getDeliveryStatus(subscriptionId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: DeliveryStatus;
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
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}/status`, {
        ...opts
    });
}
/**
 * What became of each event, the latest first
 */
export function listOperatedDeliveries(subscriptionId: string, { state, pageNumber, pageSize, cursor }: {
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
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}/deliveries${QS.query(QS.explode({
        state,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Show what became of an event, and what each attempt sent and heard
 */
export function getOperatedDelivery(subscriptionId: string, eventId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: DeliveryReport;
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
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}/deliveries/${encodeURIComponent(eventId)}`, {
        ...opts
    });
}
/**
 * Deliver an event again
 */
export function redeliverOperatedEvent(subscriptionId: string, eventId: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}/deliveries/${encodeURIComponent(eventId)}/redeliver`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Deliver the dead letters again
 */
export function redeliverDeadLetters(subscriptionId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: RedeliveredDead;
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
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}/redeliver-dead`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Send a test event to the endpoint and tell what came of it
 */
export function testOperatedSubscription(subscriptionId: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/push-subscriptions/${encodeURIComponent(subscriptionId)}/test`, {
        ...opts,
        method: "POST"
    });
}
/**
 * List topics of all clients; of a tenant, and by the beginning of their name
 */
export function listOperatedTopics({ tenant, q, pageNumber, pageSize, cursor }: {
    tenant?: string;
    q?: string;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedTopic[];
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
    }>(`/admin/v1/topics${QS.query(QS.explode({
        tenant,
        q,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Show a topic, what it stores, and how far behind its consumers are
 */
export function getOperatedTopic(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedTopicReport;
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
    }>(`/admin/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}`, {
        ...opts
    });
}
/**
 * Look at the events of a topic, or search them, without lock or cursor
 */
export function lookAtOperatedTopic(topicOwnerClient: string, eventType: string, { after, limit, contains }: {
    after?: string;
    limit?: number;
    contains?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedLook;
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
    }>(`/admin/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/events${QS.query(QS.explode({
        after,
        limit,
        contains
    }))}`, {
        ...opts
    });
}
/**
 * Publish one event on behalf of the client that owns the topic
 */
export function publishOperatedEvent(topicOwnerClient: string, eventType: string, body: {
    /** At most 256 KiB. */
    payload: string;
    /** Texts beside it; at most 16 KiB. */
    metadata?: {
        [key: string]: string;
    };
    /** The event's tenant; default: the owner's. */
    tenant?: string;
}, { idempotencyKey }: {
    idempotencyKey?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
        data: {
            /** The event's id. */
            id: string;
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
    }>(`/admin/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/events`, oazapfts.json({
        ...opts,
        method: "POST",
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            "Idempotency-Key": idempotencyKey
        })
    }));
}
/**
 * What a consumer would read again, or skip, if its cursor were moved
 */
export function previewMove(topicOwnerClient: string, eventType: string, consumerId: string, to: ("oldest" | "newest") | number, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: CursorMove;
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
    }>(`/admin/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/consumers/${encodeURIComponent(consumerId)}/seek${QS.query(QS.explode({
        to
    }))}`, {
        ...opts
    });
}
/**
 * Move the cursor of a consumer, while it holds no batch
 */
export function moveCursor(topicOwnerClient: string, eventType: string, consumerId: string, body: {
    /** `oldest`, `newest`, or a time: the first event at or after it. */
    to: ("oldest" | "newest") | number;
}, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/consumers/${encodeURIComponent(consumerId)}/seek`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the clients that have files in a tenant
 */
export function listFileOwners(tenant: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: FileOwner[];
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/files`, {
        ...opts
    });
}
/**
 * List the files of a client, or search their metadata
 */
export function listOperatedFiles(tenant: string, client: string, visibility: "private" | "public", { q, contentType, sort, pageNumber, pageSize, cursor }: {
    q?: string;
    contentType?: string;
    sort?: string;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedFile[];
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/files/${encodeURIComponent(client)}/${encodeURIComponent(visibility)}${QS.query(QS.explode({
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
 * Create the upload link of a client's file
 */
export function createOperatedFile(tenant: string, client: string, visibility: "private" | "public", body?: {
    /** The type of the upload, `binary/octet-stream` by default; not a multipart form. Other spellings, such as `contentType`, are ignored like all unknown members. */
    "Content-Type"?: string;
}, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** The file's id. */
            id: string;
            /** For the bytes. */
            uploadLink: string;
            /** The client's own. */
            commitLink: string;
        };
    } | {
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/files/${encodeURIComponent(client)}/${encodeURIComponent(visibility)}${QS.query(QS.explode({
        clip,
        crop
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Delete the files of a client, all or by query, or only count them
 */
export function deleteOperatedFiles(tenant: string, client: string, visibility: "private" | "public", { q, dryRun }: {
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/files/${encodeURIComponent(client)}/${encodeURIComponent(visibility)}${QS.query(QS.explode({
        q,
        dryRun
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Add variants to many files of a client, a page a call
 */
export function createOperatedBulkVariants(tenant: string, client: string, visibility: "private" | "public", { clip, crop, q, contentType, dryRun, pageNumber, pageSize, cursor }: {
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/files/${encodeURIComponent(client)}/${encodeURIComponent(visibility)}/variants${QS.query(QS.explode({
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
 * Count the variants of a client's files that are not made yet
 */
export function countWaitingVariants(tenant: string, client: string, visibility: "private" | "public", opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: WaitingVariants;
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/files/${encodeURIComponent(client)}/${encodeURIComponent(visibility)}/variants`, {
        ...opts
    });
}
/**
 * Find files of all clients by the beginning of their names
 */
export function findFiles(q: string, { tenant }: {
    tenant?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: FoundFiles;
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
    }>(`/admin/v1/files${QS.query(QS.explode({
        q,
        tenant
    }))}`, {
        ...opts
    });
}
/**
 * Show a file, its metadata and its variants, with links to them
 */
export function getOperatedFile(fileId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedFileReport;
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
    }>(`/admin/v1/files/${encodeURIComponent(fileId)}`, {
        ...opts
    });
}
/**
 * Delete a client's file
 */
export function deleteOperatedFile(fileId: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/files/${encodeURIComponent(fileId)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Commit a client's file
 */
export function commitOperatedFile(fileId: string, body?: {
    [key: string]: unknown;
}, opts?: Oazapfts.RequestOpts) {
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
    }>(`/admin/v1/files/${encodeURIComponent(fileId)}/commit`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Replace the metadata of a client's file
 */
export function replaceOperatedMetadata(fileId: string, body: {
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
    }>(`/admin/v1/files/${encodeURIComponent(fileId)}/metadata`, oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Add variants to a client's file
 */
export function createOperatedVariants(fileId: string, { clip, crop }: {
    clip?: string;
    crop?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** `clip` fits into the size; `crop` fills it and cuts around the centre. */
            "type": "clip" | "crop";
            /** As requested, for example `300x200`. */
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
            /** Its content, once it is ready; of private files for some minutes. */
            link?: string;
        }[];
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
    }>(`/admin/v1/files/${encodeURIComponent(fileId)}/variants${QS.query(QS.explode({
        clip,
        crop
    }))}`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Delete variants of a client's file
 */
export function deleteOperatedVariants(fileId: string, { clip, crop }: {
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
    }>(`/admin/v1/files/${encodeURIComponent(fileId)}/variants${QS.query(QS.explode({
        clip,
        crop
    }))}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * List the deletions of a client's files
 */
export function listOperatedErasures(tenant: string, client: string, { pageNumber, pageSize, cursor }: {
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
    }>(`/admin/v1/tenants/${encodeURIComponent(tenant)}/erasures/${encodeURIComponent(client)}${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Read how far a deletion is, and whose files it deletes
 */
export function getOperatedErasure(erasureId: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: OperatedErasure;
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
    }>(`/admin/v1/erasures/${encodeURIComponent(erasureId)}`, {
        ...opts
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
export function rotateSigningKeys({ leaked }: {
    leaked?: boolean;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 201;
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
        leaked
    }))}`, {
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
 * The databases: size, tenants, files, push subscriptions and load of each, and which one the next tenant gets
 */
export function listShards(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Shard[];
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
    }>("/admin/v1/shards", {
        ...opts
    });
}
/**
 * Move the files of a tenant to another shard while it works
 */
export function moveTenant(id: string, body: {
    /** The number of the shard, or `own`: an object of the tenant's own, if the deployment has `tenant_objects`. */
    shard: number | "own";
    /** Where that object is to lie, if the tenant never had one: a location hint of Cloudflare. */
    near?: "wnam" | "enam" | "sam" | "weur" | "eeur" | "apac" | "oc" | "afr" | "me";
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: TenantMove;
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/move`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * How far the latest move of a tenant is
 */
export function readMove(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantMove;
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
    }>(`/admin/v1/tenants/${encodeURIComponent(id)}/move`, {
        ...opts
    });
}
/**
 * List the tenants with an object of their own, and what each object stores
 */
export function listTenantObjects({ tenant, pageNumber, pageSize, cursor }: {
    tenant?: string;
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantObject[];
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
    }>(`/admin/v1/tenant-objects${QS.query(QS.explode({
        tenant,
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Count the tenants with an object of their own, and what all of these objects store
 */
export function sumTenantObjects(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: TenantObjectSums;
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
    }>("/admin/v1/tenant-objects/sum", {
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
 * What needs a person: blocked accounts, failing pushes, dead letters, untold logouts, quotas that are almost full
 */
export function readAttention(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** What needs a person. */
            items: {
                /** What is wrong. */
                kind: "account_blocked" | "push_stopped" | "push_failing" | "dead_letters" | "logouts_untold" | "quota_almost_full";
                /** An e-mail address, the id of a push subscription, a client, or a tenant. */
                subject: string;
                /** The topic of the push subscription. */
                topic: string | null;
                /** The name of the push subscription. */
                name: string | null;
                /** Dead letters, events that wait, logouts, or percent of the quota. */
                count: number | null;
                /** When the block ends. In milliseconds since 1970. */
                untilAt: number | null;
            }[];
        };
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
    }>("/admin/v1/attention", {
        ...opts
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
 * Copy the rows of the audit log that no copy has, as before a restore of the database
 */
export function copyAudit(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** Every row is in a copy. */
            done: boolean;
        };
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
    }>("/admin/v1/audit/copies", {
        ...opts,
        method: "POST"
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
 * Show what the platform or a tenant did, by minute, hour or day
 */
export function getMetrics({ $from, to, step, tenant, service, metric }: {
    $from?: number;
    to?: number;
    step?: "minute" | "hour" | "day";
    tenant?: string;
    service?: "oauth" | "events" | "media" | "gateway" | "admin" | "platform";
    metric?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Metrics;
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
    }>(`/admin/v1/metrics${QS.query(QS.explode({
        "from": $from,
        to,
        step,
        tenant,
        service,
        metric
    }))}`, {
        ...opts
    });
}
/**
 * Show the busiest tenants
 */
export function getBusiestTenants({ $from, to, service, metric, top }: {
    $from?: number;
    to?: number;
    service?: "oauth" | "events" | "media" | "gateway" | "admin" | "platform";
    metric?: "requests" | "refusals" | "received_bytes" | "sent_bytes" | "tokens_issued" | "tokens_refused" | "events_published" | "events_read" | "events_pushed" | "logouts_told" | "consumer_lag" | "service_failures" | "variants_made" | "jobs" | "job_age" | "sweeps_failed" | "d1_round_trips" | "d1_failures" | "d1_rows_read" | "d1_rows_written" | "shard_round_trips" | "stored_files" | "stored_bytes" | "stored_byte_hours";
    top?: number;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BusiestTenants;
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
    }>(`/admin/v1/metrics/tenants${QS.query(QS.explode({
        "from": $from,
        to,
        service,
        metric,
        top
    }))}`, {
        ...opts
    });
}
/**
 * Show the sums since the beginning, for Prometheus
 */
export function scrapeMetrics(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: string;
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
    }>("/admin/v1/metrics/prometheus", {
        ...opts
    });
}
/**
 * List the backups that are whole, the newest first
 */
export function listBackups({ pageNumber, pageSize, cursor }: {
    pageNumber?: number;
    pageSize?: number;
    cursor?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Backup[];
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
    }>(`/admin/v1/backups${QS.query(QS.explode({
        pageNumber,
        pageSize,
        cursor
    }))}`, {
        ...opts
    });
}
/**
 * Start a backup of everything that cannot be made again
 */
export function startBackup(body?: {
    /** `copy` copies the bytes of files; `reference` lists them. */
    bytes?: "reference" | "copy";
    /** Leave out events before this time, in ms since 1970; null: none. */
    eventsSince?: number | null;
    /** After the backup, keep so many of the newest and remove the others; null: keep all. */
    keep?: number | null;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: BackupJob;
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
    }>("/admin/v1/backups", oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * A backup: what it holds
 */
export function getBackup(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: Backup;
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
    }>(`/admin/v1/backups/${encodeURIComponent(id)}`, {
        ...opts
    });
}
/**
 * Remove a backup, and what no other backup needs
 */
export function deleteBackup(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: BackupJob;
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
    }>(`/admin/v1/backups/${encodeURIComponent(id)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Read a backup back and check digests, counts and references
 */
export function verifyBackup(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: BackupJob;
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
    }>(`/admin/v1/backups/${encodeURIComponent(id)}/verify`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Put a backup into this deployment, which must be empty and in maintenance
 */
export function restoreBackup(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 202;
        data: BackupJob;
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
    }>(`/admin/v1/backups/${encodeURIComponent(id)}/restore`, {
        ...opts,
        method: "POST"
    });
}
/**
 * The running job of the backup service, or the last one, and how far it is
 */
export function getBackupJob(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BackupJob;
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
    }>("/admin/v1/backup-job", {
        ...opts
    });
}
/**
 * Cancel the running job
 */
export function cancelBackupJob(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: BackupJob;
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
    }>("/admin/v1/backup-job", {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Restore a log, a consumer or a push subscription of a topic to an earlier time
 */
export function restoreObject(topic: string, body: {
    /** `{kind: log, shard}`, `{kind: consumer, name}` or `{kind: push, id}`. */
    "object": {
        kind: "log";
        shard: number;
    } | {
        kind: "consumer";
        name: string;
    } | {
        kind: "push";
        id: string;
    };
    /** `{timeMs}`: a time in ms since 1970; `{bookmark}`: the `undo` of an earlier restore. */
    to: {
        timeMs: number;
    } | {
        bookmark: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** A bookmark: a restore to it undoes this one. */
            undo: string;
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
    }>(`/admin/v1/platform-check/topics/${encodeURIComponent(topic)}/restore`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Check a part of the topics: whether records, logs, cursors and push subscriptions fit together
 */
export function checkPlatform({ after }: {
    after?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: PlatformCheck;
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
    }>(`/admin/v1/platform-check${QS.query(QS.explode({
        after
    }))}`, {
        ...opts
    });
}
/**
 * Open the logs of a topic that do not exist; readers who are further than a log go back to its end
 */
export function reopenTopic(topic: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            opened: number[];
            marked: number[];
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
    }>(`/admin/v1/platform-check/topics/${encodeURIComponent(topic)}/reopen`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Open the object of a push subscription that does not exist; it begins at the newest event
 */
export function reopenPushSubscription(id: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** True. */
            opened: boolean;
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
    }>(`/admin/v1/platform-check/push-subscriptions/${encodeURIComponent(id)}/reopen`, {
        ...opts,
        method: "POST"
    });
}
/**
 * Restore a shard that is an object to an earlier time
 */
export function restoreShard(shard: string, body: {
    /** `{timeMs}`: a time in ms since 1970; `{bookmark}`: the `undo` of an earlier restore. */
    to: {
        timeMs: number;
    } | {
        bookmark: string;
    };
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: {
            /** A bookmark: a restore to it undoes this one. */
            undo: string;
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
    }>(`/admin/v1/shards/${encodeURIComponent(shard)}/restore`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * The last restore of the database, and whether repairs hold what is younger
 */
export function getRestorePoint(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: RestorePoint;
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
    }>("/admin/v1/restore-point", {
        ...opts
    });
}
/**
 * Say that the database was restored to a time: every isolate begins anew, and repairs hold
 */
export function markRestored(body: {
    /** The time to which the database was restored, in ms since 1970. */
    restoredTo: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: RestorePoint;
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
    }>("/admin/v1/restore-point", oazapfts.json({
        ...opts,
        method: "PUT",
        body
    }));
}
/**
 * Release what repairs hold since the last restore
 */
export function releaseHold(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: RestorePoint;
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
    }>("/admin/v1/restore-point/hold", {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Do the next erasures again that were made since the time of the restore
 */
export function replayErasures(opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ReplayStep;
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
    }>("/admin/v1/restore-point/replay", {
        ...opts,
        method: "POST"
    });
}
/**
 * Create a topic; the caller becomes its owner
 */
export function createTopic(body: {
    /** The topic's event type. */
    eventType: string;
    /** For people. */
    description?: string;
    /** The topic's number of logs; default 1. It cannot change. */
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
    /** The topic's event type. */
    eventType: string;
    /** For people. */
    description?: string;
    /** The topic's number of logs; default 1. It cannot change. */
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
    /** The most events, 1 by default; more than 1000 count as 1000. */
    numEvents?: number;
    /** Duration of the lock; default 60000. */
    ttlMs?: number;
    /** Commits the batch at once, without a lock. Events in a lost answer are lost. */
    autoCommit?: boolean;
}, { idempotencyKey, prefer, consumer }: {
    idempotencyKey?: string;
    prefer?: string;
    consumer?: string;
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
            "Idempotency-Key": idempotencyKey,
            Prefer: prefer,
            Consumer: consumer
        })
    }));
}
/**
 * Read the next events and lock the topic for the caller
 */
export function deprecatedReadEvents(topicOwnerClient: string, eventType: string, body?: {
    /** The most events, 1 by default; more than 1000 count as 1000. */
    numEvents?: number;
    /** Duration of the lock; default 60000. */
    ttlMs?: number;
    /** Commits the batch at once, without a lock. Events in a lost answer are lost. */
    autoCommit?: boolean;
}, { idempotencyKey, prefer, consumer }: {
    idempotencyKey?: string;
    prefer?: string;
    consumer?: string;
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
            "Idempotency-Key": idempotencyKey,
            Prefer: prefer,
            Consumer: consumer
        })
    }));
}
/**
 * Commit the events that were read under a token
 */
export function commitEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Commit the events that were read under a token
 */
export function deprecatedCommitEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Let the lock of a batch last ttlMs from now
 */
export function extendLock(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** New duration of the lock, from now on. */
    ttlMs: number;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Let the lock of a batch last ttlMs from now
 */
export function deprecatedExtendLock(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** New duration of the lock, from now on. */
    ttlMs: number;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Give a batch back, after committing the events up to one of them
 */
export function releaseEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** The id of an event of the batch: commits it and those before it. */
    commitThrough?: string;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Give a batch back, after committing the events up to one of them
 */
export function deprecatedReleaseEvents(topicOwnerClient: string, eventType: string, body: {
    /** The token of the read that locked the topic. */
    token: string;
    /** The id of an event of the batch: commits it and those before it. */
    commitThrough?: string;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Move the calling client's cursor, while the topic is not locked
 */
export function seekCursor(topicOwnerClient: string, eventType: string, body: {
    /** `oldest`, `newest`, or a time in ms: the next read begins with the first event of that time or later. */
    to: ("oldest" | "newest") | number;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
    }));
}
/**
 * Move the calling client's cursor, while the topic is not locked
 */
export function deprecatedSeekCursor(topicOwnerClient: string, eventType: string, body: {
    /** `oldest`, `newest`, or a time in ms: the next read begins with the first event of that time or later. */
    to: ("oldest" | "newest") | number;
}, { consumer }: {
    consumer?: string;
} = {}, opts?: Oazapfts.RequestOpts) {
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
        body,
        headers: oazapfts.mergeHeaders(opts?.headers, {
            Consumer: consumer
        })
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
 * List the caller's named consumers
 */
export function listConsumers(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ConsumerName[];
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
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/consumers`, {
        ...opts
    });
}
/**
 * List the caller's named consumers
 */
export function deprecatedListConsumers(topicOwnerClient: string, eventType: string, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: ConsumerName[];
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
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/consumers`, {
        ...opts
    });
}
/**
 * Remove one of the caller's named consumers, with its cursor and lock
 */
export function removeConsumer(topicOwnerClient: string, eventType: string, consumer: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/consumers/${encodeURIComponent(consumer)}`, {
        ...opts,
        method: "DELETE"
    });
}
/**
 * Remove one of the caller's named consumers, with its cursor and lock
 */
export function deprecatedRemoveConsumer(topicOwnerClient: string, eventType: string, consumer: string, opts?: Oazapfts.RequestOpts) {
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
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/consumers/${encodeURIComponent(consumer)}`, {
        ...opts,
        method: "DELETE"
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
    /** 3 to 256 letters, digits, `_` or `-`. It cannot change: an update has the same one, or none. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. If an update leaves it out, it is unchanged. */
        handshake?: boolean;
        /** HTTP Basic credentials of the platform. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown. In an update, `********` keeps it, unless the endpoint moves to another origin. */
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
    /** 3 to 256 letters, digits, `_` or `-`. It cannot change: an update has the same one, or none. */
    name: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. If an update leaves it out, it is unchanged. */
        handshake?: boolean;
        /** HTTP Basic credentials of the platform. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown. In an update, `********` keeps it, unless the endpoint moves to another origin. */
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
    /** 3 to 256 letters, digits, `_` or `-`. It cannot change: an update has the same one, or none. */
    name?: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. If an update leaves it out, it is unchanged. */
        handshake?: boolean;
        /** HTTP Basic credentials of the platform. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown. In an update, `********` keeps it, unless the endpoint moves to another origin. */
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
    /** 3 to 256 letters, digits, `_` or `-`. It cannot change: an update has the same one, or none. */
    name?: string;
    /** Where events go. */
    pushConfig: {
        /** An https address of a public host, without user-info and fragment; redirects are not followed. */
        endpoint: string;
        /** Whether the endpoint is asked before it gets its first event, and again when it moves: it gets `{"type": "endpoint_verification", "challenge": "…"}`, signed as events are, and answers 2xx with the challenge as its body, or as `{"challenge": "…"}`. Asked seven times within eight hours; events wait. If an update leaves it out, it is unchanged. */
        handshake?: boolean;
        /** HTTP Basic credentials of the platform. */
        basicAuth: {
            /** Letters, digits, `_`, `.` or `-`. */
            username: string;
            /** Kept encrypted and never shown. In an update, `********` keeps it, unless the endpoint moves to another origin. */
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
 * Replace the signing secret; the answer shows the new one once
 */
export function rotateSigningSecret(topicOwnerClient: string, eventType: string, name: string, body?: {
    /** How long the last secret signs too: 0 to 7 days; default 24 h. 0 if it leaked. */
    previousValidMs?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SigningSecret;
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
    }>(`/pubsub/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/signing-secret`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * Replace the signing secret; the answer shows the new one once
 */
export function deprecatedRotateSigningSecret(topicOwnerClient: string, eventType: string, name: string, body?: {
    /** How long the last secret signs too: 0 to 7 days; default 24 h. 0 if it leaked. */
    previousValidMs?: number;
}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: SigningSecret;
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
    }>(`/events/v1/topics/${encodeURIComponent(topicOwnerClient)}/${encodeURIComponent(eventType)}/subscriptions/${encodeURIComponent(name)}/signing-secret`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
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
 * Create the upload link of a private file, or store one
 */
export function createPrivateFile(body?: {
    /** The type of the upload, `binary/octet-stream` by default; not a multipart form. Other spellings, such as `contentType`, are ignored like all unknown members. */
    "Content-Type"?: string;
}, { clip, crop, tenant, shared }: {
    clip?: string;
    crop?: string;
    tenant?: string;
    shared?: "tenant";
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: NewFile;
    } | {
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
    }>(`/media/v2/files${QS.query(QS.explode({
        clip,
        crop,
        tenant,
        shared
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the private files of a tenant
 */
export function listPrivateFiles(tenant: string, { shared, client, q, contentType, sort, pageNumber, pageSize, cursor }: {
    shared?: "tenant";
    client?: string;
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
        shared,
        client,
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
 * Create the upload link of a public file, or store one
 */
export function createPublicFile(body?: {
    /** The type of the upload, `binary/octet-stream` by default; not a multipart form. Other spellings, such as `contentType`, are ignored like all unknown members. */
    "Content-Type"?: string;
}, { clip, crop, tenant, shared }: {
    clip?: string;
    crop?: string;
    tenant?: string;
    shared?: "tenant";
} = {}, opts?: Oazapfts.RequestOpts) {
    return oazapfts.fetchJson<{
        status: 200;
        data: NewFile;
    } | {
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
    }>(`/media/v2/public/files${QS.query(QS.explode({
        clip,
        crop,
        tenant,
        shared
    }))}`, oazapfts.json({
        ...opts,
        method: "POST",
        body
    }));
}
/**
 * List the public files of a tenant
 */
export function listPublicFiles(tenant: string, { shared, client, q, contentType, sort, pageNumber, pageSize, cursor }: {
    shared?: "tenant";
    client?: string;
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
        shared,
        client,
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
}, { tenant, shared }: {
    tenant?: string;
    shared?: "tenant";
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
        tenant,
        shared
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
}, { tenant, shared }: {
    tenant?: string;
    shared?: "tenant";
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
        tenant,
        shared
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
