import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { createBadgeKeeper } from './advisories/badges.ts';
import { createExploitFeeds } from './advisories/exploited/feeds.ts';
import { openMirror } from './advisories/mirror/open-mirror.ts';
import { createOsvClient } from './advisories/osv-client.ts';
import { createStalenessWatch } from './advisories/staleness/staleness-watch.ts';
import { createAdvisoryWorker } from './advisories/worker.ts';
import { createAccessTokens } from './agent-credentials/access-tokens.ts';
import { mountAgentCredentials } from './agent-credentials/routes.ts';
import { agentDirectory } from './agents/agent-directory.ts';
import { createAgentDoor } from './agents/agent-door.ts';
import { createAgentGuard } from './agents/agent-guard.ts';
import { agentsBehindKeySet } from './agents/key-set-store.ts';
import { createCallerReader } from './agents/read-callers.ts';
import { mountAgents } from './agents/routes.ts';
import { countAgentsWithKeySet } from './agents/store.ts';
import { createOfflineWatch } from './agents/watch-offline.ts';
import { mountApiTokens } from './api-tokens/routes.ts';
import { revokeTokensOf } from './api-tokens/store.ts';
import { createTokenCallers } from './api-tokens/token-callers.ts';
import { mountAgeExceptions } from './approvals/age-exceptions.ts';
import { mountAgentApprovals } from './approvals/agent-routes.ts';
import { createApprovalBackground, createLedgerBackground } from './approvals/background.ts';
import { createVoidApproval } from './approvals/change-approval.ts';
import { mountCountersign } from './approvals/countersign-routes.ts';
import { mountDecisions } from './approvals/decision-routes.ts';
import type { ApprovalDeps } from './approvals/deps.ts';
import { createGateOf } from './approvals/preview-update.ts';
import { mountApprovals } from './approvals/routes.ts';
import { mountArtifacts } from './artifacts/routes.ts';
import { mountSetAside } from './artifacts/set-aside-routes.ts';
import { createAddresses } from './check-in/addresses.ts';
import { createLastSeen } from './check-in/last-seen.ts';
import { createPlainCheckIn } from './check-in/plain-check-in.ts';
import { mountCheckIn } from './check-in/routes.ts';
import { clientErrorsApart } from './client-errors/events-apart.ts';
import { mountClientErrors } from './client-errors/routes.ts';
import { tidyClientErrors } from './client-errors/tidy.ts';
import { mountAgentCommands } from './commands/agent-routes.ts';
import { queueCommand } from './commands/queue-command.ts';
import { mountCommands } from './commands/routes.ts';
import type { Config } from './config.ts';
import { mountConsole } from './console/routes.ts';
import { mountEnrolment } from './enrolment/routes.ts';
import { openCheckpointFile } from './events/checkpoint-file.ts';
import { mountEvents } from './events/routes.ts';
import { watchSeals } from './events/tell-broken-seals.ts';
import { createEventUpkeep } from './events/upkeep.ts';
import { mountHealth } from './health/routes.ts';
import { createLargeReports } from './inventory/large-reports.ts';
import { mountInventory } from './inventory/routes.ts';
import { installOpenApi } from './openapi/document.ts';
import { mountOpenApi } from './openapi/routes.ts';
import { mountAuth } from './operators/auth-routes.ts';
import { mountFactors } from './operators/factor-routes.ts';
import { prepareFirstOperator } from './operators/first-operator.ts';
import { mountNotices } from './operators/notice-routes.ts';
import { createOperatorGuard } from './operators/operator-guard.ts';
import { mountOperators } from './operators/operators-routes.ts';
import { mountPasskeys } from './operators/passkey-routes.ts';
import { createPasswords } from './operators/passwords/passwords.ts';
import { mountSessions } from './operators/session-routes.ts';
import { createSessionCookies } from './operators/sessions/cookies.ts';
import { createKnownDevices } from './operators/sessions/known-devices.ts';
import { createLoginThrottle } from './operators/sessions/login-throttle.ts';
import { createOperatorTokens } from './operators/sessions/operator-tokens.ts';
import { mountSetupPage } from './operators/setup-page.ts';
import { createOutsiderUpkeep } from './outsiders/upkeep.ts';
import { createHistoryKeeper } from './overview/keep-history.ts';
import { createSnapshots } from './overview/keep-snapshots.ts';
import { mountOverview } from './overview/routes.ts';
import { installClientFaults } from './platform/http/client-faults.ts';
import { installSecurityHeaders } from './platform/http/security-headers.ts';
import { type App, createHttpServer } from './platform/http/server.ts';
import type { Platform } from './platform/platform.ts';
import type { Secrets } from './platform/secrets.ts';
import { createProvenanceClient } from './provenance/fetch-provenance.ts';
import { createBundleVerifier, type TrustedRoot } from './provenance/verify-bundle.ts';
import { createProvenanceWorker } from './provenance/worker.ts';
import { createOpenGuard, createPublicGuard } from './rate-limits/public-guard.ts';
import { createRateLimits } from './rate-limits/rate-limits.ts';
import { mountRateLimits } from './rate-limits/routes.ts';
import { noteSeen } from './release-times/note-seen.ts';
import { createRegistryClient } from './release-times/registry-client.ts';
import { tidyFirstSeen } from './release-times/tidy-seen.ts';
import { createReleaseTimes } from './release-times/worker.ts';
import { createResyncGate } from './restore/resync.ts';
import type { RevocationJournal } from './restore/revocation-journal.ts';
import { mountResync } from './restore/routes.ts';
import type { KeyFolder } from './signing-keys/key-folder.ts';
import type { KeyRing } from './signing-keys/key-ring.ts';
import { mountSigningKeys } from './signing-keys/routes.ts';
import { mountStream } from './stream/routes.ts';
import { createChangeWatch } from './stream/watch-changes.ts';
import { createSumKeeper } from './updates/fold-sums.ts';
import { mountUpdates } from './updates/routes.ts';
import { VERSION } from './version.ts';
import { mountViews } from './views/routes.ts';

/** The folder of the project: what the program ships with is named from here, wherever it is started. */
const ROOT = resolve(import.meta.dirname, '../../..');

export interface ApplicationParts {
  config: Config;
  platform: Platform;
  secrets: Secrets;
  keyFolder: KeyFolder;
  keyRing: KeyRing;
  tls: { cert: string; key: string } | null;
  /** What provenance is verified against; null: nothing. */
  trustedRoot: TrustedRoot | null;
  /** What was revoked for good, whatever the database says. */
  journal: Pick<RevocationJournal, 'has'>;
}

export interface Application {
  http: App;
  /** Path of the one-time page for the first operator; null once one exists. */
  setupPath: string | null;
  /** Ends when the events of rows that were refused are written. */
  settled(): Promise<void>;
  /** Starts the workers, listens, and returns the URL. */
  listen(): Promise<string>;
  /** Ends requests under way, then the workers; what they had buffered is written. */
  stop(): Promise<void>;
}

/** The composition root: opens what the slices share and mounts them in the order in which data meets them. */
export async function createApplication(parts: ApplicationParts): Promise<Application> {
  const { config, platform, secrets, keyFolder, keyRing, tls, journal } = parts;
  const { database, now, random } = platform;
  const bootedAt = now();
  const seals = watchSeals(platform);
  const { refreshFamilyMaxDays } = config;
  const familyMaxAgeMs = refreshFamilyMaxDays === null ? null : refreshFamilyMaxDays * 86_400_000;
  const isHttps = tls !== null || (config.baseUrl ?? '').startsWith('https:');

  const rateLimits = await createRateLimits({ platform, bootedAt });
  const { limiter } = rateLimits;
  const accessTokens = createAccessTokens({ secret: secrets.accessTokens, now, random });
  const passwords = createPasswords({ random });
  // A queue of their own for who has logged in: a flood of logins holds up no change of a password.
  const knownPasswords = createPasswords({ random, running: 1 });
  const tokens = createOperatorTokens({ secret: secrets.operatorSessions, now });
  const cookies = createSessionCookies({ secure: isHttps });
  const sessionIdleMs = config.sessionIdleMinutes * 60_000;
  const throttle = createLoginThrottle({ now });
  const devices = createKnownDevices({ key: secrets.knownDevices, now, random, secure: isHttps });
  const operators = createOperatorGuard({
    ...{ platform, limiter, tokens, cookies, sessionIdleMs },
    tokenCallers: createTokenCallers(platform, journal),
  });
  const door = createAgentDoor({ config, limiter, accessTokens, readCaller: createCallerReader(database) });
  const lastSeen = createLastSeen({ database, log: platform.log });
  const client = createOsvClient({ baseUrl: config.advisoryApiUrl });
  const mirror = openMirror({ platform, config, api: client });
  const advisories = createAdvisoryWorker({ platform, config, client, mirror });
  const feeds = createExploitFeeds({ platform, kevUrl: config.kevUrl, epssUrl: config.epssUrl });
  const staleness = createStalenessWatch({
    ...{ platform, bootedAt, mirror, worker: advisories, source: config.advisorySource },
    maxAgeMs: config.advisoryMaxAgeHours * 3_600_000,
  });
  const badges = createBadgeKeeper({
    platform,
    worker: advisories,
    maxAgeMs: config.advisoryMaxAgeHours * 3_600_000,
  });

  const releaseTimes = createReleaseTimes({ platform, client: createRegistryClient({ config, now }) });
  const provenance = createProvenanceWorker({
    platform,
    client: createProvenanceClient({ config, verify: createBundleVerifier(parts.trustedRoot) }),
  });
  const approvals: ApprovalDeps = {
    platform,
    config,
    keyRing,
    worker: advisories,
    ageSource: releaseTimes,
    provenance,
  };
  const voidApproval = createVoidApproval(platform);
  const offline = createOfflineWatch(platform, { bootedAt });
  const upkeep = createApprovalBackground(approvals, { intervalMs: config.sweepIntervalSeconds * 1_000 });
  const ledger = createLedgerBackground(approvals, { intervalMs: config.sweepIntervalSeconds * 1_000 });

  const largeReports = createLargeReports(platform);
  const changeWatch = createChangeWatch(platform);
  const snapshots = createSnapshots(platform);
  const history = createHistoryKeeper({ platform, snapshots });
  const sumKeeper = createSumKeeper(platform);
  const addresses = createAddresses();
  const outsiders = createOutsiderUpkeep(platform, [tidyClientErrors(platform), tidyFirstSeen(platform)]);
  const eventUpkeep = createEventUpkeep({
    platform,
    signer: keyRing,
    file: openCheckpointFile(config.dataDir),
    retentionDays: config.eventsRetentionDays,
  });

  const http = createHttpServer({
    plainRoute: createPlainCheckIn({ platform, door, keyRing, lastSeen, addresses }),
    log: platform.log,
    trustedProxies: config.trustedProxies,
    tls,
    guards: {
      public: createPublicGuard(limiter),
      anyone: createOpenGuard(limiter, operators.identify),
      own: rateLimits.addressGuard,
      agent: createAgentGuard({ platform, door }),
      operator: operators.guard,
    },
  });
  installClientFaults(http);
  installSecurityHeaders(http, { https: isHttps });
  await installOpenApi(http, { version: VERSION });

  mountEvents(http, { platform, apart: clientErrorsApart });
  mountRateLimits(http, rateLimits);
  mountSigningKeys(http, { platform, keyRing, keyFolder, countAgentsWithKeySet, agentsBehindKeySet });
  mountAgentCredentials(http, {
    platform,
    limiter,
    accessTokens,
    tagKey: secrets.refreshTags,
    directory: agentDirectory,
    familyMaxAgeMs,
    resync: createResyncGate(journal),
  });
  mountAgents(http, { platform, queueCommand });
  mountEnrolment(http, {
    platform,
    accessTokens,
    tagKey: secrets.refreshTags,
    familyMaxAgeMs,
    minAgentVersion: config.minAgentVersion,
    keyRing,
  });
  mountArtifacts(http, { platform });
  mountSetAside(http, { platform });
  mountUpdates(http, {
    platform,
    gateOf: createGateOf(approvals),
    notePlan: (tx, planned) => noteSeen(tx, platform, { ...planned, packages: [] }),
  });
  mountCommands(http, { platform, voidApproval });
  mountAgentCommands(http, { platform, config });
  mountInventory(http, {
    platform,
    large: largeReports,
    voidApproval,
    noteSeen: (tx, sighted) => noteSeen(tx, platform, sighted),
  });
  mountCheckIn(http, {
    platform,
    config,
    keyRing,
    lastSeen,
    addresses,
  });
  mountApprovals(http, approvals);
  mountDecisions(http, { platform, keyRing });
  mountCountersign(http, { platform });
  mountAgeExceptions(http, { platform });
  mountViews(http, { platform });
  mountAgentApprovals(http, { platform, keyRing });
  const auth = {
    ...{ platform, throttle, devices, passwords, tokens, cookies, baseUrl: config.baseUrl, sessionIdleMs },
    factorKey: secrets.operatorFactors,
    factorPolicy: { who: config.secondFactor, graceMs: config.secondFactorGraceDays * 86_400_000 },
  };
  mountAuth(http, auth);
  mountSessions(http, { ...auth, passwords: knownPasswords });
  mountFactors(http, auth);
  mountNotices(http, { platform });
  mountPasskeys(http, auth);
  mountSetupPage(http, { platform, passwords });
  mountOperators(http, { platform, passwords: knownPasswords, endTokens: revokeTokensOf });
  mountApiTokens(http, { platform });
  mountResync(http, { platform });
  mountStream(http, { platform, watch: changeWatch, identify: operators.identify });
  mountOverview(http, { platform, snapshots, advisories: advisories.status });
  mountHealth(http, { platform, version: VERSION, bootedAt, advisories: advisories.status });
  mountClientErrors(http, { platform });
  mountOpenApi(http);
  await mountConsole(http, { folder: resolve(ROOT, config.consoleDir) });

  const first = await prepareFirstOperator(platform, { passwords, configured: firstOperatorOf(config) });

  return {
    http,
    setupPath: first.kind === 'link' ? first.path : null,
    settled: seals.settled,
    async listen() {
      await http.listen({ host: config.host, port: config.port });
      rateLimits.start();
      largeReports.start();
      mirror?.start();
      badges.start();
      staleness.start();
      feeds.start();
      offline.start();
      history.start();
      sumKeeper.start();
      upkeep.start();
      ledger.start();
      eventUpkeep.start();
      outsiders.start();
      return urlOf(http, { host: config.host, isTls: tls !== null });
    },
    async stop() {
      await http.close();
      rateLimits.stop();
      await changeWatch.stop();
      // First what calls out: it ends every wait, so that a source that hangs does not hold the others.
      await Promise.all([advisories.stop(), releaseTimes.stop(), provenance.stop()]);
      await Promise.all([mirror?.stop(), feeds.stop(), staleness.stop()]);
      await largeReports.stop();
      await upkeep.stop();
      await ledger.stop();
      await eventUpkeep.stop();
      await outsiders.stop();
      await badges.stop();
      await offline.stop();
      await history.stop();
      await sumKeeper.stop();
      await snapshots.stop();
      await lastSeen.stop();
      await seals.settled();
    },
  };
}

function firstOperatorOf({
  adminUsername,
  adminPassword,
}: Config): { username: string; password: string } | null {
  if (adminUsername === null || adminPassword === null) return null;
  return { username: adminUsername, password: adminPassword };
}

function urlOf(http: App, { host, isTls }: { host: string; isTls: boolean }): string {
  const address: AddressInfo | string | null = http.server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${isTls ? 'https' : 'http'}://${name}:${port}`;
}
