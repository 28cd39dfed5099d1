/** Every operation below a topic's address, with a body that it accepts. */
export const BELOW_A_TOPIC: readonly (readonly [method: string, path: string, json?: object])[] = [
  ["GET", ""],
  ["GET", "/events"],
  ["POST", "/read", { numEvents: 1000, autoCommit: true }],
  ["POST", "/commit", { token: "1.x" }],
  ["POST", "/extend", { token: "1.x", ttlMs: 1000 }],
  ["POST", "/release", { token: "1.x" }],
  ["POST", "/seek", { to: "newest" }],
  ["POST", "/publish", { payload: "forged" }],
  ["GET", "/subscriptions"],
  ["POST", "/subscriptions", subscription("copy")],
  ["GET", "/subscriptions/warehouse"],
  ["PUT", "/subscriptions/warehouse", subscription("warehouse")],
  ["DELETE", "/subscriptions/warehouse"],
  ["GET", "/subscriptions/warehouse/deliveries"],
  ["POST", "/subscriptions/warehouse/deliveries/0000000000000000-0/redeliver"],
  ["POST", "/subscriptions/warehouse/test"],
  ["GET", "/subscribers"],
  ["DELETE", "/subscribers/8f14e45fceea167a5a36dedd4bea2543"],
  ["DELETE", ""],
];

export function subscription(name: string) {
  return {
    name,
    pushConfig: { endpoint: "https://hooks.example.com/x", basicAuth: { username: "u", password: "p" } },
  };
}
