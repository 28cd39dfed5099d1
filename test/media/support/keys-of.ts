import { env } from "cloudflare:workers";

export const keysOf = async (fileId: string): Promise<string[]> => {
  const prefixes = [`blob/${fileId}`, `variant/${fileId}/`, `incoming/${fileId}/`];
  const lists = await Promise.all(prefixes.map((prefix) => env.MEDIA.list({ prefix })));
  return lists.flatMap((list) => list.objects.map((object) => object.key));
};
