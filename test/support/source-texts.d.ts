declare module "virtual:source-texts" {
  /** The texts of all sources, by their paths from the root (runtime/source-texts.ts). */
  const texts: Readonly<Record<string, string>>;
  export default texts;
}
