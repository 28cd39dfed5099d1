import { anyToken, open, operated, scoped, type Access } from "./access.ts";
import { TOKEN_KINDS } from "./token-kind.ts";

/**
 * The table of rights of all services. An operation is a row; a route names its row and does not compile without one.
 * Operations with the same rights share a row of `WHO`, whose columns are:
 *
 * - kinds of token (token-kind.ts). admit.ts refuses by them before it reads scope, input or stored data, so a refusal
 *   reveals nothing about what exists;
 * - other callers of a client's resources: another client of its tenant, a client of another tenant, a client of a
 *   service that the tenant subscribes to. Each has an authenticated token of its own with every scope that it can get.
 *
 * `test/http/rights.test.ts` gets a token of every kind and calls every operation of every service with it.
 */
export type Right =
  /** The resources of the token's client, with no scope but the operation's. */
  | "own"
  /** The resources that the token's scopes name. */
  | "scope"
  /** The resources of the token's user. */
  | "user"
  /** The same for everybody. */
  | "all"
  /** Nothing: the list is empty. */
  | "none"
  /** Nothing: this status is the answer. */
  | 401
  | 403
  | 404;

const COLUMNS = [...TOKEN_KINDS, "sameTenant", "otherTenant", "servesTenant"] as const;
export type Column = (typeof COLUMNS)[number];
type Columns = typeof COLUMNS;
type Row = readonly Right[] & { readonly length: Columns["length"] };

// prettier-ignore
const WHO = {
  // Columns: a client's own token; a person's at a client that authenticated, or did not; for no tenant; for an
  // organization; of no client; unproven; then another client of the tenant, of another tenant, serving the tenant.
  newTopic:      ["own",     403,        403,          403,   403,           403,    403,   "own",          "own",      "own"],
  topics:        ["own",     "scope",    "scope",      "none", "none",       403,    "none", "scope",       "scope",    "scope"],
  topicOwner:    ["own",     404,        404,          404,   404,           403,    404,   404,            404,        404],
  topicReader:   ["own",     "scope",    "scope",      404,   404,           403,    404,   "scope",        "scope",    "scope"],
  topicConsumer: ["own",     404,        404,          404,   404,           403,    404,   "scope",        "scope",    "scope"],
  subscriber:    ["own",     404,        404,          404,   404,           403,    404,   404,            404,        404],
  newFile:       ["own",     "own",      403,          403,   403,           403,    403,   "own",          "own",      "own"],
  filesOfTenant: ["own",     "own",      403,          403,   403,           403,    403,   "own",          404,        "own"],
  file:          ["own",     "own",      403,          403,   403,           403,    403,   404,            404,        404],
  person:        [401,       "user",     "user",       "user", "user",       "user", 401,   401,            401,        401],
  operator:      ["scope",   403,        403,          403,   "scope",       403,    403,   403,            403,        403],
  everybody:     ["all",     "all",      "all",        "all", "all",         "all",  "all", "all",          "all",      "all"],
} as const satisfies Record<string, Row>;

export type Who = keyof typeof WHO;

const BY_TOPIC = anyToken(
  "the topic's owner needs no scope; everybody else needs one that names the topic",
  "pubsub.topic=*",
);
const READS_TOPIC = anyToken(
  "the topic's owner needs no scope; everybody else needs one that names the topic, for all of its events or those of the token's tenant",
  "pubsub.topic=*",
  "pubsub.own_tenant_topic=*",
);
const BY_OWNER = scoped("pubsub_publish", "pubsub.topic=*");
const OF_OWNER = anyToken("the topic's owner needs no scope, and nobody else is asked for one");
const SEE = operated("admin_read", "admin_write");
const RUN = operated("admin_write");
/** The operation limits these people to the tenants of the token's organization. */
const SEE_OWN = operated("admin_read", "admin_write", "admin_tenant");
const RUN_OWN = operated("admin_write", "admin_tenant");
const OWN_GRANTS = anyToken("the grants of a user and the client whose token it is, whatever the token was issued for");

export const RIGHTS = {
  // Topics and their events
  listTopics: { who: "topics", access: anyToken("the list holds what the caller may see") },
  createTopic: { who: "newTopic", access: BY_OWNER },
  readTopic: { who: "topicReader", access: READS_TOPIC },
  deleteTopic: { who: "topicOwner", access: BY_OWNER },
  publishEvents: { who: "topicOwner", access: BY_OWNER },
  readEvents: { who: "topicReader", access: READS_TOPIC },
  commitEvents: { who: "topicReader", access: READS_TOPIC },
  extendLock: { who: "topicReader", access: READS_TOPIC },
  releaseLock: { who: "topicReader", access: READS_TOPIC },
  listConsumers: { who: "topicReader", access: READS_TOPIC },
  removeConsumer: { who: "topicReader", access: READS_TOPIC },
  lookAtEvents: { who: "topicReader", access: READS_TOPIC },
  seekEvents: { who: "topicConsumer", access: BY_TOPIC },
  // Push subscriptions
  listSubscriptions: { who: "topicConsumer", access: BY_TOPIC },
  createSubscription: { who: "topicConsumer", access: BY_TOPIC },
  readSubscription: { who: "subscriber", access: BY_TOPIC },
  updateSubscription: { who: "subscriber", access: BY_TOPIC },
  deleteSubscription: { who: "subscriber", access: BY_TOPIC },
  listDeliveries: { who: "subscriber", access: BY_TOPIC },
  redeliverEvent: { who: "subscriber", access: BY_TOPIC },
  rotateSigningSecret: { who: "subscriber", access: BY_TOPIC },
  testSubscription: { who: "subscriber", access: BY_TOPIC },
  listSubscribers: { who: "topicOwner", access: OF_OWNER },
  endSubscriber: { who: "topicOwner", access: OF_OWNER },
  // Files, private and public alike
  createFile: { who: "newFile", access: scoped("media_manage") },
  commitFile: { who: "file", access: scoped("media_manage") },
  fetchPrivateFile: { who: "file", access: scoped("media_view") },
  fetchPublicFile: { who: "everybody", access: open("public files are fetched without a token") },
  deleteFile: { who: "file", access: scoped("media_manage") },
  readMetadata: { who: "file", access: scoped("media_view") },
  replaceMetadata: { who: "file", access: scoped("media_manage") },
  listVariants: { who: "file", access: scoped("media_view") },
  createVariants: { who: "file", access: scoped("media_manage") },
  deleteVariants: { who: "file", access: scoped("media_manage") },
  listFiles: { who: "filesOfTenant", access: scoped("media_view") },
  deleteFiles: { who: "filesOfTenant", access: scoped("media_admin") },
  createBulkVariants: { who: "filesOfTenant", access: scoped("media_manage") },
  deleteBulkVariants: { who: "filesOfTenant", access: scoped("media_manage") },
  listErasures: { who: "filesOfTenant", access: scoped("media_manage", "media_admin") },
  readErasure: { who: "file", access: scoped("media_manage", "media_admin") },
  uploadFile: { who: "everybody", access: open("the signed link is the permission") },
  fetchContent: {
    who: "everybody",
    access: open("public files need no permission; for private ones the signed link is it"),
  },
  // OAuth
  getToken: { who: "everybody", access: open("the client authenticates by its secret") },
  readTokenInfo: { who: "everybody", access: open("the token itself is the query") },
  revokeTokens: { who: "everybody", access: open("the client authenticates by its secret") },
  introspectToken: { who: "everybody", access: open("the client authenticates by its secret") },
  authorizeDevice: { who: "everybody", access: open("the client authenticates as at the token endpoint") },
  showDevice: { who: "everybody", access: open("the page asks for the code of a device") },
  enterUserCode: { who: "everybody", access: open("the code belongs to a device; the person signs in next") },
  pushRequest: { who: "everybody", access: open("the client authenticates as at the token endpoint") },
  registerClient: {
    who: "everybody",
    access: open("RFC 7591: a client registers itself, where the deployment lets it"),
  },
  readKeys: { who: "everybody", access: open("RFC 7517: public keys") },
  readMetadataOfServer: { who: "everybody", access: open("RFC 8414: metadata is public") },
  readUserInfo: { who: "person", access: open("the token is checked by the operation, against D1") },
  listRefreshTokens: { who: "person", access: OWN_GRANTS },
  deleteRefreshTokens: { who: "person", access: OWN_GRANTS },
  deleteRefreshToken: { who: "person", access: OWN_GRANTS },
  // Pages: the browser's session identifies the user
  authorize: { who: "everybody", access: open("the user signs in on the page") },
  signIn: { who: "everybody", access: open("the form carries the user's password") },
  enterSecondFactor: {
    who: "everybody",
    access: open("the person is at the browser: the form is bound to the sign-in that it was made for"),
  },
  decideConsent: {
    who: "everybody",
    access: open("the browser's session is the person's, and the form is bound to it"),
  },
  returnFromProvider: { who: "everybody", access: open("the state belongs to the browser") },
  forgotPassword: { who: "everybody", access: open("the answer is the same for every address") },
  resetPassword: { who: "everybody", access: open("the link in the mail is the permission") },
  verifyAddress: { who: "everybody", access: open("the link in the mail is the permission") },
  acceptInvitation: { who: "everybody", access: open("the link in the mail is the permission") },
  linkIdentity: { who: "everybody", access: open("the form carries the user's password") },
  endSession: { who: "everybody", access: open("whoever has the browser may sign it out") },
  showAccount: { who: "everybody", access: open("whoever is not signed in sees the sign-in form") },
  changeAccount: { who: "everybody", access: open("the browser's session is the user's, and the form is bound to it") },
  // The operator service
  listResources: { who: "operator", access: SEE_OWN },
  putResource: { who: "operator", access: RUN_OWN },
  readResource: { who: "operator", access: SEE_OWN },
  deleteResource: { who: "operator", access: RUN_OWN },
  readDeepHealth: { who: "operator", access: SEE },
  readUsage: { who: "operator", access: SEE_OWN },
  unlockUser: { who: "operator", access: RUN },
  removeSecondFactor: { who: "operator", access: RUN },
  testIdentityProvider: { who: "operator", access: RUN },
  listSessions: { who: "operator", access: SEE },
  listPasskeys: { who: "operator", access: SEE },
  removePasskey: { who: "operator", access: RUN },
  makeClientSecret: { who: "operator", access: RUN_OWN },
  listUnregisteredClients: { who: "operator", access: SEE },
  removeUnregisteredClient: { who: "operator", access: RUN },
  listLogoutDeliveries: { who: "operator", access: SEE },
  redeliverLogouts: { who: "operator", access: RUN },
  revokeAll: { who: "operator", access: RUN_OWN },
  explainScope: { who: "operator", access: SEE },
  listSigningKeys: { who: "operator", access: SEE },
  rotateSigningKeys: { who: "operator", access: RUN },
  listPushSubscriptions: { who: "operator", access: SEE },
  readPushSubscription: { who: "operator", access: SEE },
  removePushSubscription: { who: "operator", access: RUN },
  readPushStatus: { who: "operator", access: SEE },
  listPushDeliveries: { who: "operator", access: SEE },
  readPushDelivery: { who: "operator", access: SEE },
  redeliverPush: { who: "operator", access: RUN },
  redeliverDeadPush: { who: "operator", access: RUN },
  testPush: { who: "operator", access: RUN },
  listOperatedTopics: { who: "operator", access: SEE_OWN },
  readOperatedTopic: { who: "operator", access: SEE_OWN },
  lookAtOperatedTopic: { who: "operator", access: SEE_OWN },
  findFiles: { who: "operator", access: SEE_OWN },
  listFileOwners: { who: "operator", access: SEE_OWN },
  listOperatedFiles: { who: "operator", access: SEE_OWN },
  createOperatedFile: { who: "operator", access: RUN_OWN },
  deleteOperatedFiles: { who: "operator", access: RUN_OWN },
  createOperatedBulkVariants: { who: "operator", access: RUN_OWN },
  countWaitingVariants: { who: "operator", access: SEE_OWN },
  readOperatedFile: { who: "operator", access: SEE_OWN },
  commitOperatedFile: { who: "operator", access: RUN_OWN },
  replaceOperatedMetadata: { who: "operator", access: RUN_OWN },
  createOperatedVariants: { who: "operator", access: RUN_OWN },
  deleteOperatedVariants: { who: "operator", access: RUN_OWN },
  deleteOperatedFile: { who: "operator", access: RUN_OWN },
  listOperatedErasures: { who: "operator", access: SEE_OWN },
  readOperatedErasure: { who: "operator", access: SEE_OWN },
  readAttention: { who: "operator", access: SEE },
  makeInvitationLink: { who: "operator", access: RUN },
  publishOperatedEvent: { who: "operator", access: RUN_OWN },
  previewMove: { who: "operator", access: SEE_OWN },
  moveCursor: { who: "operator", access: RUN_OWN },
  listComparisons: { who: "operator", access: SEE },
  startComparison: { who: "operator", access: RUN },
  readComparison: { who: "operator", access: SEE },
  repairComparison: { who: "operator", access: RUN },
  readMetrics: { who: "operator", access: SEE },
  listBusiestTenants: { who: "operator", access: SEE },
  scrapeMetrics: { who: "operator", access: SEE },
  readAudit: { who: "operator", access: SEE },
  listShards: { who: "operator", access: SEE },
  listTenantObjects: { who: "operator", access: SEE },
  sumTenantObjects: { who: "operator", access: SEE },
  restoreShard: { who: "operator", access: RUN },
  moveTenant: { who: "operator", access: RUN },
  readMove: { who: "operator", access: SEE },
  listSealKeys: { who: "operator", access: SEE },
  checkPlatform: { who: "operator", access: SEE },
  restoreObject: { who: "operator", access: RUN },
  reopenTopic: { who: "operator", access: RUN },
  reopenPushSubscription: { who: "operator", access: RUN },
  readRestorePoint: { who: "operator", access: SEE },
  markRestored: { who: "operator", access: RUN },
  releaseHold: { who: "operator", access: RUN },
  replayErasures: { who: "operator", access: RUN },
  listBackups: { who: "operator", access: SEE },
  startBackup: { who: "operator", access: RUN },
  readBackup: { who: "operator", access: SEE },
  deleteBackup: { who: "operator", access: RUN },
  verifyBackup: { who: "operator", access: RUN },
  restoreBackup: { who: "operator", access: RUN },
  readBackupJob: { who: "operator", access: SEE },
  cancelBackupJob: { who: "operator", access: RUN },
  copyAudit: { who: "operator", access: RUN },
  listAuditCopies: { who: "operator", access: SEE },
  readAuditCopy: { who: "operator", access: SEE },
  // Addresses of the platform itself
  readHealth: { who: "everybody", access: open("asked by monitors; says nothing but that the Worker runs") },
  readStylesheet: { who: "everybody", access: open("needed by pages that are shown before anyone signs in") },
  readDocuments: { who: "everybody", access: open("documentation") },
  readConsole: { who: "everybody", access: open("console") },
} as const satisfies Record<string, { readonly who: Who; readonly access: Access }>;

export type Operation = keyof typeof RIGHTS;

/** The table's entry of an operation and a column. */
export function rightOf(operation: Operation, column: Column): Right {
  const row: Row = WHO[RIGHTS[operation].who];
  return row[COLUMNS.indexOf(column)]!;
}
