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
 * `npm run corpora`: makes a clip and a crop of the test images of other image libraries, in a platform of its own.
 * Every variant must become ready, with the computed size and close to the result of libvips, or fail with a reason.
 * Prints the table of tools/corpora/README.md and writes `.corpora/findings.json` with every file.
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
