export const ACCESS_TOKEN_LIFETIME_SEC = 3600;
/** Other isolates issue tokens from records that are up to 30 s old. A minute covers requests in progress too. */
export const LATE_ISSUE_SEC = 60;
