import { Connection, type Answer } from "../lib/connection.ts";
import { askFor, broken, repeated, requestBytes, type Exchange } from "../lib/exchange.ts";
import type { Work } from "../lib/load.ts";
import type { Target } from "./target.ts";

/** A `GET` and its expected answer. */
export interface Asked {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly isRight?: (answer: Answer) => boolean;
}

export const exchangeOf = (
  { server }: Target,
  path: string,
  { status, headers, isRight = () => true }: Asked,
): Exchange => ({
  request: requestBytes({ method: "GET", path, host: `${server.host}:${server.port}`, headers }),
  status,
  fault: (answer) => (isRight(answer) ? undefined : "not the answer that it must be"),
});

export const repeatedly = (target: Target, path: string, asked: Asked): Work =>
  repeated(exchangeOf(target, path, asked), target.server);

/** Requests one answer and reads it in full. */
export async function answerTo(target: Target, path: string, asked: Asked): Promise<Answer> {
  const { request, status, fault } = exchangeOf(target, path, asked);
  const connection = await Connection.open(target.server);
  try {
    const answer = await askFor(status, connection, request);
    const wrong = fault(answer);
    if (wrong !== undefined) throw broken(wrong, answer);
    return answer;
  } finally {
    connection.close();
  }
}
