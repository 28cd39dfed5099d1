import { readdirSync, readFileSync } from "node:fs";

/** Of a server's runtime, in megabytes; undefined where the system does not tell. */
export function residentMegabytes(leader: number): number | undefined {
  if (process.platform !== "linux") return undefined;
  const sizes = readdirSync("/proc").flatMap((pid) => {
    try {
      const [, name, group] = /\((.*)\) \S \d+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
      if (name !== "workerd" || Number(group) !== leader) return [];
      return [Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 976.5625];
    } catch {
      return [];
    }
  });
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}
