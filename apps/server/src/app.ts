import { resolve } from 'node:path';
import { mountAgentCredentials } from './agent-credentials/routes.ts';
import { openAgentFolder } from './agent-packages/open-folder.ts';
import { mountAgentPackages } from './agent-packages/routes.ts';
import { agentDirectory } from './agents/agent-directory.ts';
import { mountAgents } from './agents/routes.ts';
import { mountApiTokens } from './api-tokens/routes.ts';
import { createGateOf } from './approvals/preview-update.ts';
import { mountArtifacts } from './artifacts/routes.ts';
import { mountSetAside } from './artifacts/set-aside-routes.ts';
import { mountCalendar } from './calendar/routes.ts';
import { mountCheckIn } from './check-in/routes.ts';
import { mountClientErrors } from './client-errors/routes.ts';
import { separateClientErrors } from './client-errors/separate-events.ts';
import { mountAgentCommands } from './commands/agent-routes.ts';
import { mountHostCommands } from './commands/host-commands.ts';
import { mountCommands } from './commands/routes.ts';
import { openAgents } from './composition/open-agents.ts';
import { mountApprovalRoutes, openApprovals } from './composition/open-approvals.ts';
import { openExports } from './composition/open-exports.ts';
import { listen, openHttp, urlOf } from './composition/open-http.ts';
import { mountProviderRoutes } from './composition/open-identity-providers.ts';
import { openCounts, openMetrics } from './composition/open-metrics.ts';
import { mountNotifications, openNotifications } from './composition/open-notifications.ts';
import { mountOperatorRoutes, openOperators } from './composition/open-operators.ts';
import { openOverview } from './composition/open-overview.ts';
import { openSources } from './composition/open-sources.ts';
import { openUpkeep } from './composition/open-upkeep.ts';
import { openWorkers } from './composition/open-workers.ts';
import type { ApplicationParts, Opening } from './composition/parts.ts';
import { mountConsole } from './console/routes.ts';
import { mountEnrolment } from './enrolment/routes.ts';
import { mountEvents } from './events/routes.ts';
import { watchSeals } from './events/watch-seals.ts';
import { mountEvidence } from './evidence/routes.ts';
import { mountFleetLock } from './fleet-lock/routes.ts';
import { mountHealth } from './health/routes.ts';
import { mountHostFaults } from './host-faults/routes.ts';
import { createLargeReports } from './inventory/large-reports.ts';
import { mountInventory } from './inventory/routes.ts';
import { mountMetrics } from './metrics/routes.ts';
import { mountOpenApi } from './openapi/routes.ts';
import { mountOverview } from './overview/routes.ts';
import { mountPackageHistory } from './package-history/routes.ts';
import { createBackground } from './platform/background.ts';
import { boundConnections } from './platform/http/bound-connections.ts';
import type { App } from './platform/http/server.ts';
import { createWorkOfOne } from './platform/leases/work-of-one.ts';
import { PROGRAM_ROOT, SHIPPED_AGENTS, SHIPPED_CONSOLE } from './platform/program.ts';
import { mountProbes } from './probes/routes.ts';
import { mountProgress } from './progress/routes.ts';
import { createRateLimits } from './rate-limits/rate-limits.ts';
import { mountRateLimits } from './rate-limits/routes.ts';
import { mountReboots } from './reboots/routes.ts';
import { createRebootBackground } from './reboots/run-reboots.ts';
import { SERVER_GONE_MS } from './restore/recover.ts';
import { createResyncGate } from './restore/resync.ts';
import { mountResync } from './restore/routes.ts';
import { countLiveServers } from './restore/store.ts';
import { mountSigningKeys } from './signing-keys/routes.ts';
import { mountStream } from './stream/routes.ts';
import { mountUpdates } from './updates/routes.ts';
import { VERSION } from './version.ts';
import { mountViews } from './views/routes.ts';
import { heldOfHosts } from './withheld/held-of-hosts.ts';
import { heldOfPackages } from './withheld/held-of-packages.ts';
import { hostsUpToDate } from './withheld/up-to-date-store.ts';

export interface Application {
  http: App;
  /** Path of the one-time page for the first operator; null once one exists. */
  setupPath: string | null;
  /** Resolves when the events of refused rows are written. */
  settled(): Promise<void>;
  /** Listens, with the workers, starts the background work, and returns the URL. */
  listen(): Promise<string>;
  /** Resolves, with a line that says why, when the server cannot go on; null: it has no workers. */
  lost: Promise<string> | null;
  /** From now on the server is not ready, and each connection ends with its answer. */
  drain(): void;
  /** Ends requests under way, then the background work, which writes what it has buffered. */
  stop(): Promise<void>;
}

/** The composition root: opens what slices share, then mounts the slices in the order in which data meets them. */
export async function createApplication(parts: ApplicationParts): Promise<Application> {
  const { config, platform, keyFolder, keyRing, journal } = parts;
  const bootedAt = platform.now();
  let isDraining = false;
  const background = createBackground(platform.log);
  const closing = new AsyncDisposableStack();
  closing.defer(background.stop);

  const seals = watchSeals(platform);
  background.use('broken seals', { stop: seals.settled });
  const rateLimits = background.use(
    'rate limits',
    await createRateLimits({
      ...{ platform, bootedAt, processes: config.workers, onChanged: () => workers?.tell() },
      countServers: (db) => countLiveServers(db, platform.now() - SERVER_GONE_MS),
    }),
  );
  const { limiter } = rateLimits;
  // A SQLite file has one server: the lock of its folder.
  const workOfOne = createWorkOfOne(platform, { isAlone: platform.database.engine === 'sqlite' });
  const draining = () => isDraining;
  const opening: Opening = {
    ...{ ...parts, background, workOfOne, bootedAt, limiter, counts: openCounts(parts) },
    isDraining: draining,
    connections: boundConnections({
      ...{ log: platform.log, isDraining: draining, isForwarding: config.workers > 1 },
    }),
  };
  const agents = openAgents(opening);
  const workers = openWorkers(opening, { ...agents.checkIn, budget: rateLimits.ofWorker });
  const operators = openOperators(opening);
  const { identify } = operators.guard;
  const large = background.use('large reports', createLargeReports(platform));
  const sources = openSources(opening);
  const approvals = openApprovals(opening, sources);
  const { snapshots, due, changeWatch } = openOverview(opening);
  const notifications = openNotifications(opening, { due, advisories: sources.advisories });
  const intervalMs = config.sweepIntervalSeconds * 1_000;
  workOfOne.use('reboots', (fenced) => createRebootBackground(fenced, { intervalMs }));
  openUpkeep(opening);
  background.use('work of one server', workOfOne);
  openExports(opening);
  const scrape = await openMetrics(opening, { snapshots, advisories: sources.advisories.status, workers });

  const http = await openHttp(opening, {
    plainRoute: agents.plainCheckIn,
    agent: agents.guard,
    own: rateLimits.addressGuard,
    operators: operators.guard,
  });
  // After the streams that they forward have ended.
  if (workers) closing.defer(workers.stop);
  closing.defer(() => http.close());
  const { routes } = http;
  mountEvents(routes, { platform, separate: separateClientErrors });
  mountRateLimits(routes, rateLimits);
  mountAgentCredentials(routes, {
    ...agents.credentials,
    directory: agentDirectory,
    resync: createResyncGate(journal),
  });
  mountAgents(routes, {
    platform,
    heldOf: (hosts) => heldOfHosts(platform, hosts),
    upToDate: () => hostsUpToDate(platform),
  });
  mountSigningKeys(routes, { platform, keyRing, keyFolder });
  mountEnrolment(routes, agents.credentials);
  mountAgentPackages(routes, {
    folder: openAgentFolder(resolve(PROGRAM_ROOT, config.agentsDir ?? SHIPPED_AGENTS)),
    ...{ version: VERSION, serverCa: parts.serverCa, log: platform.log },
  });
  mountArtifacts(routes, { platform });
  mountSetAside(routes, { platform });
  mountUpdates(routes, {
    platform,
    gateOf: createGateOf(approvals),
    heldOfPackages: (of) => heldOfPackages(platform, of),
  });
  mountCommands(routes, { platform, identify });
  mountHostCommands(routes, { platform });
  mountProbes(routes, platform);
  mountReboots(routes, platform);
  mountFleetLock(routes, { platform, limiter: rateLimits.limiter });
  mountAgentCommands(routes, { platform, config });
  mountInventory(routes, { platform, large, maxChange: config.maxChange });
  mountPackageHistory(routes, { platform });
  mountCheckIn(routes, agents.checkIn);
  mountApprovalRoutes(http, parts, approvals);
  mountOperatorRoutes(http, operators);
  mountApiTokens(routes, { platform });
  mountProviderRoutes(http, opening, operators);
  mountResync(routes, { platform });
  mountStream(routes, { platform, watch: changeWatch, identify });
  mountProgress(routes, platform);
  mountHostFaults(routes, { platform, config });
  mountOverview(routes, { platform, snapshots, advisories: sources.advisoryState, config });
  mountCalendar(routes, { platform, due });
  mountNotifications(routes, notifications);
  mountEvidence(routes, { platform, signer: keyRing });
  mountHealth(routes, {
    ...{ ...opening, version: VERSION, advisories: sources.advisories.status },
    areWorkersReady: () => workers?.areReady() ?? true,
  });
  mountMetrics(routes, { token: config.metricsToken, scrape });
  mountClientErrors(routes, { platform });
  mountViews(routes, { platform });
  mountOpenApi(http);
  await mountConsole(http, { folder: resolve(PROGRAM_ROOT, config.consoleDir ?? SHIPPED_CONSOLE) });

  return {
    http,
    setupPath: await operators.prepareSetup(),
    settled: seals.settled,
    async listen() {
      const port = await listen(http, opening);
      await workers?.open(http, port);
      background.start();
      return urlOf(opening, port);
    },
    lost: workers?.lost ?? null,
    drain() {
      isDraining = true;
      workers?.tell();
    },
    stop: () => closing.disposeAsync(),
  };
}
