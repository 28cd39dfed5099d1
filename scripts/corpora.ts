import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CORPORA, fetchCorpora } from "../tools/corpora/fetch.ts";
import { imagesOf } from "../tools/corpora/images.ts";
import { findingsOf } from "../tools/corpora/judge.ts";
import { startCorporaPlatform } from "../tools/corpora/platform.ts";
import { tableOf, type Finding } from "../tools/corpora/report.ts";
import { ROOT } from "./lib/root.ts";
import { failWith, UserError } from "./lib/user-error.ts";

/**
 * `npm run corpora`: the test images of other image libraries, each stored in a platform that is started for it, with a
 * clip and a crop. Every variant must become ready, with the size that was computed and near to what libvips makes of
 * the same image, or fail with a reason. Prints the table of tools/corpora/README.md; `.corpora/findings.json` has every file.
 */
const HOME = join(ROOT, ".corpora");
const PARALLEL = 12;
async function corpora(): Promise<void> {
  fetchCorpora(HOME);
  const images = CORPORA.flatMap((corpus) => imagesOf(HOME, corpus));
  const platform = await startCorporaPlatform();
  const findings: Finding[] = [];
  try {
    const waiting = [...images];
    const worker = async (): Promise<void> => {
      for (let image = waiting.shift(); image !== undefined; image = waiting.shift())
        findings.push(...(await findingsOf(platform, image)));
    };
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  } finally {
    await platform.stop();
  }
  writeFileSync(join(HOME, "findings.json"), JSON.stringify(findings, undefined, 2));
  console.log(tableOf(findings));
  const wrong = findings.filter(({ wrong: what }) => what !== undefined);
  for (const finding of wrong) console.log(`${finding.corpus} ${finding.path} ${finding.variant}: ${finding.wrong}`);
  if (wrong.length > 0) throw new UserError(`${wrong.length} variants are not as they should be.`);
}

try {
  await corpora();
} catch (error) {
  failWith(error);
}
