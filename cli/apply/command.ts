import type { Command, Invocation } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { Io } from "../terminal/io.ts";

/** `plat apply <file>`. */
export const applyCommand: Command = {
  words: ["apply"],
  summary: "Bring the platform to the state that a file describes.",
  args: [
    {
      name: "file",
      help: "YAML, - is the standard input: organizations, tenants, services, packages, roles, users, clients, identityProviders",
    },
  ],
  options: [
    { flag: "dry-run", help: "show the difference and what sending it needs, send nothing" },
    { flag: "exit-code", help: "with --dry-run: end with 3 if there is a difference" },
    { flag: "prune", help: "remove what the file's collections do not name" },
    {
      flag: "secrets",
      value: "<file>",
      help: "keeps client secrets that are made, one JSON object a line; only its owner may read it",
    },
    { flag: "set-passwords", help: "send the passwords of users who have one already too" },
    { flag: "set-secrets", help: "send the secrets of clients and providers that have one already too" },
  ],
  notes: [
    "The file is checked whole first, and refused whole: every mistake as file:line:column: reason. Then the difference is shown, then it is sent. " +
      "Run again, it sends nothing; killed, the next run goes on.",
    "Secrets stand in variables of the environment: password: { env: ADA_PASSWORD }. A confidential client without a clientSecret gets one, which --secrets keeps.",
  ],
  changes: true,
  examples: ["apply platform.yaml --dry-run", "apply platform.yaml --secrets platform.secrets.jsonl"],
  run: apply,
};

async function apply({ args, options, io, input, client: connect }: Invocation): Promise<number> {
  if (options.has("exit-code") && !options.has("dry-run")) throw new UsageError("--exit-code goes with --dry-run.");
  const { file = "" } = args;
  const bytes = await input.readBytes(file, "apply");
  const client = await connect();
  // Loaded only here: the parser and the service's schemas are large.
  const { applyFile } = await import("./apply.ts");
  return applyFile(
    client,
    {
      bytes,
      name: file === "-" ? "<stdin>" : file,
      dryRun: options.has("dry-run"),
      exitCode: options.has("exit-code"),
      prune: options.has("prune"),
      setPasswords: options.has("set-passwords"),
      setSecrets: options.has("set-secrets"),
      secrets: options.value("secrets"),
      json: options.has("json"),
      allowLoopback: allowsLoopback(client.base, io.env),
    },
    io,
  );
}

/** Like `npm start`: a platform on this machine accepts loopback addresses unless ALLOW_LOOPBACK says otherwise. */
function allowsLoopback(base: string, env: Io["env"]): boolean {
  const { hostname } = new URL(base);
  const isHere = /^(localhost|127\..*|\[::1\])$/.test(hostname) || hostname.endsWith(".localhost");
  return (env["ALLOW_LOOPBACK"] || String(isHere)) === "true";
}
