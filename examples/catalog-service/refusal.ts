/** The platform's error types that this service uses, with their statuses. */
const STATUS = {
  bad_payload_syntax: 400,
  validation_violation: 400,
  business_error: 400,
  insufficient_credentials: 401,
  insufficient_permissions: 403,
  element_resource_non_existing: 404,
  unsupported_method: 405,
  bad_payload_size: 413,
  unsupported_request_content_type: 415,
  internal_service_error: 500,
  service_temporarily_unavailable: 503,
} as const;

export interface Detail {
  readonly type: string;
  /** A field of the body (`price.amount`), a parameter or a header. */
  readonly field: string;
  readonly message: string;
}

/**
 * An error answer, thrown anywhere. The message goes to the caller, `reason` only to the log. It has the platform's
 * form, so callers know it from every service.
 */
export class Refusal extends Error {
  override name = "Refusal";
  readonly type: keyof typeof STATUS;
  readonly details: readonly Detail[];
  readonly headers: Readonly<Record<string, string>>;
  readonly reason: string | undefined;

  constructor(
    type: keyof typeof STATUS,
    message: string,
    more: { details?: readonly Detail[]; headers?: Record<string, string>; reason?: string } = {},
  ) {
    super(message);
    this.type = type;
    this.details = more.details ?? [];
    this.headers = more.headers ?? {};
    this.reason = more.reason;
  }

  get status(): number {
    return STATUS[this.type];
  }

  /** `platformUrl`: the platform explains each type there, and each type of a detail. */
  toJson(platformUrl: string): object {
    const { status, type, message } = this;
    const at = (anchor: string) => ({ moreInfo: `${platformUrl}/docs/errors#${anchor}` });
    const details = this.details.map((detail) => ({ ...detail, ...at(`details-${detail.type}`) }));
    return { status, type, message, ...at(type), details };
  }
}

export const invalid = (details: readonly Detail[]): Refusal =>
  new Refusal("validation_violation", details.map(({ message }) => message).join(" "), { details });

export const notFound = (what: string): Refusal =>
  new Refusal("element_resource_non_existing", `There is no such ${what}, or it is not yours.`);
