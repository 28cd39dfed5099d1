import { glob } from "astro/loaders";
import { defineCollection } from "astro:content";
import { docsSchema } from "@astrojs/starlight/schema";

const { content } = JSON.parse(process.env.PLINTH_SITE ?? "{}");

export const collections = {
  docs: defineCollection({ loader: glob({ base: content, pattern: "**/*.md" }), schema: docsSchema() }),
};
