/** A consumer's name in its parts; access/reader.ts makes it. */
export interface DescribedConsumer {
  readonly client: string;
  /** It reads for a person. */
  readonly ofPerson: boolean;
  /** It is shown this tenant's events only. */
  readonly onlyTenant: string | null;
  /** The name that the client gave it; null: the client's first consumer. */
  readonly name: string | null;
}

/** `<client>[/person/<hash>/<tenant>][/of/<tenant>][/consumer/<name>]` */
export function describeConsumer(consumer: string): DescribedConsumer {
  const [client = "", ...parts] = consumer.split("/");
  const person = parts[0] === "person" ? parts.splice(0, 3) : [];
  const of = parts[0] === "of" ? parts.splice(0, 2)[1] : undefined;
  const name = parts[0] === "consumer" ? parts[1] : undefined;
  return { client, ofPerson: person.length > 0, onlyTenant: of ?? null, name: name ?? null };
}
