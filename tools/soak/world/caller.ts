import { Agent, request as startRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Latencies } from "./latencies.ts";
import type { FaultsLedger } from "../ledgers/faults.ts";
import type { Random } from "../lib/random.ts";
import type { Violations } from "../ledgers/violations.ts";

export interface Ask {
  /** Its row in the table. */
  readonly kind: string;
  readonly method: string;
  /** A path below the platform's address, or a whole address. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** At most one of the three. */
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
  readonly bytes?: Buffer;
  /** The time at which it was due, by `performance.now()`; default now. */
  readonly dueMs?: number;
  /** Treats 503 as an answer; otherwise a 503 decides nothing. */
  readonly takes503?: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
  /** Times of the first attempt and of the answer, by `performance.now()`. */
  readonly sentMs: number;
  readonly answeredMs: number;
  /** Earlier attempts had an unknown outcome. */
  readonly isRepeat: boolean;
  /** The body as JSON; undefined if it is not. */
  readonly body: any;
}

export interface CallerDeps {
  /** Origin and prefix. */
  readonly base: string;
  readonly violations: Violations;
  readonly latencies: Latencies;
  readonly faults: FaultsLedger;
  /** Share of requests whose connection is cut. */
  readonly cuts: number;
}

/** Longer than a start takes on a busy machine. */
const PATIENCE_MS = 120_000;
const ANSWER_MS = 30_000;
const PAUSE_MS = 100;

/** Calls the platform, cuts connections as the seed says, and notes latencies. */
export class Caller {
  readonly base: string;
  readonly #deps: CallerDeps;
  #probing: Promise<void> | undefined;
  readonly #agent = new Agent({ keepAlive: true });
  /** False once the load is over. */
  cutting = true;

  constructor(deps: CallerDeps) {
    this.base = deps.base;
    this.#deps = deps;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Makes one attempt; undefined if the outcome is unknown. A refused connection is no attempt. */
  async once(ask: Ask, random: Random, isRepeat = false): Promise<Reply | undefined> {
    const dueMs = ask.dueMs ?? performance.now();
    const cut = this.cutting && !isRepeat && random.chance(this.#deps.cuts) ? cutOf(random) : undefined;
    if (cut !== undefined) this.#deps.faults.happened("connection cut", `in the ${cut}`);
    for (const endMs = performance.now() + PATIENCE_MS; ;) {
      const sentMs = performance.now();
      try {
        const { status, headers, bytes } = await this.#send(ask, cut);
        const answeredMs = performance.now();
        this.#deps.latencies.add({ kind: ask.kind, dueMs, answeredMs, status });
        if (status === 500) this.#note500(ask, headers, bytes);
        if (status === 503) {
          const saysWhen = headers["retry-after"] !== undefined;
          this.#deps.violations.expect("a 503 says when to come again", saysWhen, () => `${ask.method} ${ask.path}`);
          if (ask.takes503 !== true) return undefined;
        }
        return { status, headers, bytes, sentMs, answeredMs, isRepeat, body: parse(bytes) };
      } catch (error) {
        const isRefused = (error as { code?: string }).code === "ECONNREFUSED";
        if (!isRefused || performance.now() > endMs) {
          this.#deps.latencies.unanswered(ask.kind);
          return undefined;
        }
        await this.#listening();
      }
    }
  }

  /** Shares one probe among all waiting requests, so that they do not slow the start down. */
  #listening(): Promise<void> {
    const { hostname: host, port } = new URL(this.base);
    const probe = async (): Promise<void> => {
      for (let isUp = false; !isUp; await sleep(PAUSE_MS)) isUp = await takesConnections(host, Number(port || 80));
      this.#probing = undefined;
    };
    return (this.#probing ??= Promise.race([probe(), sleep(PATIENCE_MS, undefined, { ref: false })]));
  }

  /** Retries until an answer decides; undefined if that takes too long. Only for repeatable requests. */
  async insist(ask: Ask, random: Random): Promise<Reply | undefined> {
    const firstMs = performance.now();
    const due = { ...ask, dueMs: ask.dueMs ?? firstMs };
    for (let attempts = 0; performance.now() < firstMs + PATIENCE_MS; attempts++) {
      const reply = await this.once(due, random, attempts > 0);
      if (reply !== undefined) return { ...reply, sentMs: firstMs };
      await sleep(PAUSE_MS);
    }
    this.#deps.violations.add("what may be repeated is answered in the end", `${ask.method} ${ask.path}`);
    return undefined;
  }

  #note500({ method, path }: Ask, headers: IncomingMessage["headers"], bytes: Buffer): void {
    const id = Object.entries(headers).find(([name]) => name.endsWith("-request-id"))?.[1] ?? "?";
    const where = path.replace(/[?].*/s, "");
    this.#deps.violations.add(
      "no answer is 500",
      `${method} ${where}, request ${String(id)}: ${bytes.toString("utf8", 0, 300)}`,
    );
  }

  #send(
    ask: Ask,
    cut: Cut | undefined,
  ): Promise<{ status: number; headers: IncomingMessage["headers"]; bytes: Buffer }> {
    const [type, body] = bodyOf(ask);
    const url = ask.path.startsWith("/") ? `${this.base}${ask.path}` : ask.path;
    const headers = {
      ...(type !== undefined && { "content-type": type }),
      ...(body !== undefined && { "content-length": String(body.length) }),
      ...ask.headers,
    };
    return new Promise((resolve, reject) => {
      const request = startRequest(url, { method: ask.method, headers, agent: this.#agent, timeout: ANSWER_MS });
      request.once("error", reject);
      request.once("timeout", () => request.destroy(new Error("no answer in time")));
      request.once("response", (answer) => {
        if (cut === "answer") return void request.destroy(new Error("cut"));
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.once("error", reject);
        answer.once("close", () => {
          if (!answer.complete) return reject(new Error("the answer broke off"));
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) });
        });
      });
      if (cut !== "request") return void request.end(body);
      // Sends half of the body, or only the head, then cuts the connection.
      request.flushHeaders();
      if (body !== undefined) request.write(body.subarray(0, body.length >> 1));
      setTimeout(() => request.destroy(new Error("cut")), CUT_AFTER_MS);
    });
  }
}

async function takesConnections(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

type Cut = "request" | "answer";
const CUT_AFTER_MS = 5;

const cutOf = (random: Random): Cut => (random.chance(0.5) ? "request" : "answer");

function bodyOf({ json, form, bytes }: Ask): [type: string | undefined, body: Buffer | undefined] {
  if (form !== undefined)
    return ["application/x-www-form-urlencoded", Buffer.from(new URLSearchParams(form).toString())];
  return json === undefined ? [undefined, bytes] : ["application/json", Buffer.from(JSON.stringify(json))];
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
