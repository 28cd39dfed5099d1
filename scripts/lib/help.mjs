/**
 * Help texts of `npm run <script> -- --help`, by the name of the script's file. Other scripts have help of their own.
 * Plain JavaScript, since bootstrap.mjs reads it with nothing installed.
 */
export const HELP = {
  test: `npm test [-- <stage> …]
npm test -- --changed [<commit>]
npm run nightly

Runs the stages of the tests, as CI does. Stages: types, lint, format, openapi, coverage, dependencies, audit, bundle,
worker, acceptance; nightly, searches and objects run only if they are named.

  --changed  the quick stages, and the tests beside what differs from the commit; HEAD

Example: npm test -- types lint`,
  drill: `npm run drill

Starts the platform with a database, bucket, queue and objects that fail when they are told to. docs/operate/bad-day
says how.

Example: curl -X POST 'http://127.0.0.1:8787/drill/database/stall?seconds=30'`,
  corpora: `npm run corpora

Makes variants of the test images of other image libraries, and compares them. Prints a table, and writes
.corpora/findings.json. tools/corpora/README.md says where the images come from.`,
  conformance: `npm run conformance [-- <plan> …]

Runs the plans of the OpenID Foundation's suite against a platform of its own. The suite is at CONFORMANCE_SUITE_URL;
docs/conformance.md shows how to start one.

Example: CONFORMANCE_SUITE_URL=https://localhost:8443 npm run conformance`,
  site: `npm run site

Builds the documentation as npm start serves it, and says where it is.`,
  console: `npm run console [-- --port <port> | screenshots]

Develops the console with hot reload, against the platform at PLINTH_URL (that of npm start).

  --port <port>  listens elsewhere
  screenshots    takes the pictures of docs/console.md

Example: npm run console -- --port 5174`,
  release: `npm run release -- <commit>

Keeps what the release at the commit deploys in test/upgrade/released, for the tests of upgrades.
docs/contributing/releasing.md has the steps.`,
  dependencies: `npm run licences [-- --check]

Writes .build/licences.md: packages, their licences, and the notices to hand on with the bundle.

  --check  writes nothing; only holds packages and imports to the rules`,
  audit: `npm run audit

Asks the registry for known vulnerabilities of the locked packages. Exit code 1 if there is one, 2 without an answer.`,
  openapi: `npm run openapi [-- --check]

Writes api/openapi.json, the typed client and docs/reference/scopes.md.

  --check  writes nothing; only compares`,
  schema: `npm run schema

Writes src/platform/storage/migrations.json from migrations/, by which the Worker makes the tables of shards that are
objects. After a new migration.`,
  coverage: `npm run coverage [-- --check]

Writes docs/coverage.md: which test shows which promise.

  --check  writes nothing; only compares`,
  python: `npm run test:python

Tests packages/python against a platform of its own. Its packages come from PyPI, into .build/python. Without Python
3.10 it says so, and ends well.`,
};
