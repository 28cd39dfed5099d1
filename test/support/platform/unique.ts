let made = 0;
/** Returns a name that no other test of this run uses. */
export const unique = (prefix: string): string =>
  `${prefix}${(++made).toString(36)}${Math.random().toString(36).slice(2, 7)}`;
