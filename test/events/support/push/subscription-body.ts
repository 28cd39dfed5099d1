export const PASSWORD = "pässword-of-the-endpoint";

export const body = (changes: Record<string, unknown> = {}) => ({
  name: "orders",
  pushConfig: {
    endpoint: "https://shop.example/events",
    basicAuth: { username: "shop", password: PASSWORD },
  },
  ...changes,
});

/** The same with another push configuration. */
export const bodyWith = (config: Record<string, unknown>, basicAuth: Record<string, unknown> = {}) => {
  const { pushConfig } = body();
  return body({ pushConfig: { ...pushConfig, basicAuth: { ...pushConfig.basicAuth, ...basicAuth }, ...config } });
};
