/**
 * Every `type` of a detail, with what a reader does about it where the detail's own message does not say; `/docs/errors`
 * shows this table.
 */
export const DETAIL_TYPES = {
  missing_field: "Send the field.",
  invalid_field: "Send another value: the message says which are taken.",
  missing_header: "Send the header.",
  invalid_header: "Send another value: the message says which are taken.",
  missing_query_parameter: "Add the parameter to the address.",
  invalid_query_parameter: "Send another value, and the parameter once.",
  invalid_uri_parameter: "A part of the path is none that there can be.",
  out_of_range_parameter: "Send one whole number within the limits that the message names.",
  taken: "Another one has this name, path or address: choose another.",
  in_use: "Change or remove first what the message names.",
  built_in: "The platform brings it: it stays as it is.",
  not_confidential: "The client has no secret, since it is not `confidential`.",
  tenant_refused: "Name a tenant that your client may act for, or none.",
  idempotency_key_used: "Make a new key for each new request; a repeat is the same request.",
  topic_exists: "Use the topic that is there, or another event type.",
  topic_deletion_in_progress: "Wait until it is gone: then the name is free.",
  lock_expired: "Read again: the events come once more.",
  unknown_token: "Send the token of the last read.",
  already_committed: "Of a batch: nothing is left to do. Of a file: it stays as it was committed first.",
  subscription_exists: "Update it, or choose another name.",
  subscription_disabled: "Update the subscription to enable it.",
  too_many_subscriptions: "Delete those that nobody needs.",
  credentials_unreadable: "Delete the subscription and create it anew, or let the operator bring the key back.",
  event_expired: "The event is older than what is kept.",
  file_not_uploaded: "Send the file to its `uploadLink`, then commit.",
  already_uploaded: "The link has done its work: commit the file.",
  upload_changed: "Commit when nobody uploads to the link any more.",
  quota_exceeded: "Delete files, or let the operator give the tenant more.",
  query_too_broad: "Ask for less at a time: the message says how.",
  unsupported_content_type: "Make variants of jpeg, gif and png alone.",
  too_many_transformations: "Ask for a smaller page or fewer sizes.",
  too_many_variants: "Delete variants of the file first.",
  too_many_attributes: "Send fewer pairs of key and value.",
  comparison_running: "Read the report until the comparison is done.",
  repair_under_way: "Compare when the repair is done.",
  other_run_under_way: "Wait until the other one is done.",
} as const satisfies Record<string, string>;

export type DetailType = keyof typeof DETAIL_TYPES;
