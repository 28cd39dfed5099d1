/** The parts of a consumer's name, which access/reader.ts builds. */
export interface DescribedConsumer {
  readonly client: string;
  /** True if it reads for a person. */
  readonly ofPerson: boolean;
  /** The tenant whose events it gets; null: it gets all events. */
  readonly onlyTenant: string | null;
  /** The name in the header `Consumer`; null: the caller's consumer without a name. */
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
