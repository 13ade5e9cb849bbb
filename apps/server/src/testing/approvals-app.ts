import type { PlanAction } from '@tidegate/protocol/plan';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { type FakeOsv, startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Value } from 'typebox/value';
import { onTestFinished } from 'vitest';
import type { ClosureFacts } from '../advisories/closure-facts.ts';
import { openMirror } from '../advisories/mirror/open-mirror.ts';
import { createOsvClient, type OsvClient } from '../advisories/osv-client.ts';
import { createAdvisoryWorker } from '../advisories/worker.ts';
import { mountAgents } from '../agents/routes.ts';
import { mountAgeExceptions } from '../approvals/age-exceptions.ts';
import { mountAgentApprovals } from '../approvals/agent-routes.ts';
import { mountCountersign } from '../approvals/countersign-routes.ts';
import { mountDecisions } from '../approvals/decision-routes.ts';
import { type ApprovalDeps, policyOf } from '../approvals/deps.ts';
import { stoppedUnder } from '../approvals/gate.ts';
import { mountVulnerabilityPolicy } from '../approvals/policy-routes.ts';
import { createGateOf } from '../approvals/preview-update.ts';
import { readRecord } from '../approvals/read-decision.ts';
import { replayDecision } from '../approvals/replay-decision.ts';
import { mountApprovals } from '../approvals/routes.ts';
import { mountBlackouts } from '../blackouts/routes.ts';
import { putAwaited } from '../commands/awaited-store.ts';
import { type Config, defaultConfig } from '../config.ts';
import { mountHolds } from '../holds/routes.ts';
import { mountOrigins } from '../origins/routes.ts';
import type { Database } from '../platform/db/engine.ts';
import { mountPolicies } from '../policy-runs/routes.ts';
import { mountProgress } from '../progress/routes.ts';
import { createProvenanceClient } from '../provenance/fetch-provenance.ts';
import { createBundleVerifier, type TrustedRoot } from '../provenance/verify-bundle.ts';
import { createProvenanceWorker } from '../provenance/worker.ts';
import { createRegistryClient } from '../release-times/registry-client.ts';
import { createReleaseTimes } from '../release-times/worker.ts';
import { mountRollbacks } from '../rollbacks/routes.ts';
import { mountRollouts } from '../rollout-runs/routes.ts';
import { mountSboms } from '../sboms/routes.ts';
import { mountUnfixed } from '../unfixed/routes.ts';
import { findUpdates } from '../updates/many-store.ts';
import { RECOMMENDED_ALWAYS } from '../updates/offer-rules.ts';
import { UNKNOWN_FIX } from '../updates/queue-rules.ts';
import type { UpdateRow } from '../updates/store.ts';
import { insertUpdates } from '../updates/store.ts';
import { storePlan } from '../updates/store-plan.ts';
import { setDigest } from '../updates/update-set.ts';
import { mountStatements } from '../vex/routes.ts';
import { mountVulnerabilities } from '../vulnerabilities/routes.ts';
import { heldOfHosts } from '../withheld/held-of-hosts.ts';
import { mountWithheld } from '../withheld/routes.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { insertTestAgent } from './agent-rows.ts';
import type { TestEngine } from './engines.ts';
import { NO_REGISTRIES } from './no-registries.ts';
import { createSliceApp, createTestKeyRing } from './slice-app.ts';
import { createTestPlatform } from './test-platform.ts';

export interface ApprovalsAppOptions {
  settings?: Partial<Config>;
  /** How long a decision waits for them; long unless a test needs the timeout. */
  waitMs?: number;
  /** Timeout of the source of advisories; long unless a test lets it hang. */
  osvMs?: number;
  /** The same for the registries. */
  registryMs?: number;
  /** Maximum packages that wait for the source of advisories. */
  queueMax?: number;
  /** Replaces the API's client, for example by one that delays its answers. */
  wrapClient?: (client: OsvClient) => OsvClient;
  /** Gives the export of advisories separate records; otherwise it has those of the API. */
  isExportApart?: boolean;
  trustedRoot?: TrustedRoot;
  /** Replaces the database by one that observes its use. */
  wrap?: (database: Database) => Database;
}

/** The approvals' side of the server on a real database, with a fake OSV and one Debian 12 host. */
export async function createApprovalsApp(engine: TestEngine, options: ApprovalsAppOptions = {}) {
  const osv = await startFakeOsv({ covered: ['Debian:12'] });
  onTestFinished(() => osv.stop());
  const mirrored = options.isExportApart ? await startFakeOsv({ covered: ['Debian:12'] }) : osv;
  onTestFinished(() => mirrored.stop());
  const exported = await startFakeOsvExport(mirrored);
  onTestFinished(() => exported.stop());
  const folder = tmpDir('tidegate-approvals-');
  onTestFinished(() => folder.remove());
  const opened = await engine.open();
  const database = options.wrap ? options.wrap(opened) : opened;
  onTestFinished(() => replayAll(opened));
  const platform = createTestPlatform(database);
  const config = defaultConfig({
    advisorySource: 'api',
    advisoryApiUrl: osv.url,
    advisoryExportUrl: exported.url,
    dataDir: folder.path,
    ...NO_REGISTRIES,
    ...options.settings,
  });
  const { osvMs = 30_000 } = options;
  const plain = createOsvClient({
    baseUrl: osv.url,
    timeouts: { batchMs: osvMs, singleMs: osvMs },
    sleep: async () => {},
  });
  const client = options.wrapClient?.(plain) ?? plain;
  const mirror = openMirror({ platform, config, api: client, sleep: async () => {} });
  onTestFinished(async () => mirror?.stop());
  const worker = createAdvisoryWorker({
    ...{ platform, config, client, mirror },
    ...(options.queueMax === undefined ? {} : { queueMax: options.queueMax }),
  });
  onTestFinished(() => worker.stop());
  const { registryMs = 30_000 } = options;
  const ageSource = createReleaseTimes({
    platform,
    client: createRegistryClient({
      config,
      now: platform.now,
      timeouts: { packumentMs: registryMs, indexMs: registryMs },
      sleep: async () => {},
    }),
  });
  onTestFinished(() => ageSource.stop());
  const provenance = createProvenanceWorker({
    platform,
    client: createProvenanceClient({
      config,
      verify: createBundleVerifier(options.trustedRoot ?? null),
      timeoutMs: registryMs,
      sleep: async () => {},
    }),
  });
  onTestFinished(() => provenance.stop());
  const keyRing = createTestKeyRing();
  const deps: ApprovalDeps = {
    platform,
    config,
    keyRing,
    worker,
    ageSource,
    provenance,
    waitMs: options.waitMs ?? 30_000,
  };
  const app = createSliceApp(platform);
  onTestFinished(() => app.close());
  mountAgents(app.routes, {
    platform,
    heldOf: (hosts) => heldOfHosts(platform, hosts),
    upToDate: () => hostsUpToDate(platform),
  });
  mountApprovals(app.routes, deps);
  mountDecisions(app.routes, deps);
  mountCountersign(app.routes, { platform });
  mountAgentApprovals(app.routes, { platform, keyRing });
  mountAgeExceptions(app.routes, { platform });
  mountVulnerabilityPolicy(app.routes, deps);
  mountStatements(app.routes, { platform, keyRing });
  mountOrigins(app.routes, { platform, keyRing });
  mountPolicies(app.routes, deps);
  mountRollbacks(app.routes, { platform });
  mountRollouts(app.routes, platform);
  mountBlackouts(app.routes, platform);
  mountHolds(app.routes, platform);
  mountUnfixed(app.routes, { platform, config });
  mountVulnerabilities(app.routes, { platform, config });
  mountSboms(app.routes, { platform, config, fleetId: keyRing.fleetId });
  mountWithheld(app.routes, platform);
  mountProgress(app.routes, platform);
  const { agentId, familyId } = await insertTestAgent(database, { n: 1 });

  async function call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
    const answer = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    const body = answer.body === '' ? null : answer.json();
    return { status: answer.statusCode, body, code: body?.code, headers: answer.headers };
  }

  /** An update of a package on the host; with its plan by default. */
  async function addUpdate(given: NewTestUpdate = {}): Promise<string> {
    const { name = 'openssl', ecosystem = 'apt', version = '3.0.12-1', state = 'pending' } = given;
    const id = platform.newId();
    await database.transact(async (tx) => {
      const now = platform.now();
      const host = given.agentId ?? agentId;
      await insertUpdates(tx, [updateRow({ id, agentId: host, ecosystem, name, version, state, now })]);
      if (state !== 'awaiting_plan') return;
      const asked = { set_sha256: setDigest([id]), asked_by: 'ada', asked_at: now, round: 0 };
      await putAwaited(tx, [
        { update_id: id, ...asked, policy_id: null, policy_sha256: null, bulk_id: null },
      ]);
    });
    if (given.plan !== null) await addPlan([id], given.plan ?? [actionOf({ name, version, ecosystem })]);
    return id;
  }

  /** The plan of a set of updates, as the host has resolved it. */
  async function addPlan(updateIds: readonly string[], actions: PlanAction[]): Promise<void> {
    await database.transact(async (tx) => {
      const [first] = (await findUpdates(tx, updateIds)).values();
      const ecosystem = Value.Parse(Ecosystem, first?.ecosystem);
      const plan = { resolved_at: '2026-11-21T09:00:00Z', actions };
      await storePlan(tx, platform, {
        agentId: first?.agent_id ?? agentId,
        ecosystem,
        sets: [updateIds],
        plan,
      });
    });
  }

  return {
    app,
    osv,
    /** The records of the export: those of the API, unless they are separate. */
    mirrored,
    exported,
    /** Null if `settings` name no source with a mirror. It is not refreshed automatically. */
    mirror,
    platform,
    database,
    config,
    deps,
    keyRing,
    worker,
    provenance,
    agentId,
    familyId,
    call,
    addUpdate,
    addPlan,
    clock: platform.clock,
    gateOf: createGateOf(deps),
    stoppedUnder: (closure: ClosureFacts) => stoppedUnder(closure, policyOf(deps)),
    approve: (id: string, body?: object) => call('POST', `/api/v1/updates/${id}/approve`, body),
    /** A known vulnerability of one version. */
    vulnerable(of: { id?: string; name?: string; version?: string; ecosystem?: string } = {}) {
      const { id = 'CVE-1', name = 'openssl', version = '3.0.12-1', ecosystem = 'Debian:12' } = of;
      osv.addRecord({ id, summary: 'bad' }, [{ ecosystem, name, versions: [version] }]);
    },
  };
}

/** Replays every decision of a test from its record: the gate must decide the same. */
async function replayAll({ read }: Database): Promise<void> {
  for (const row of await read.selectFrom('decisions').selectAll().execute()) {
    const record = readRecord(row);
    const { verdict, isSame } = replayDecision(record);
    if (isSame) continue;
    throw new Error(`decided otherwise: ${JSON.stringify({ recorded: record.verdict, now: verdict })}`);
  }
}

export type ApprovalsApp = Awaited<ReturnType<typeof createApprovalsApp>>;
export type { FakeOsv };

interface NewTestUpdate {
  name?: string;
  ecosystem?: Ecosystem;
  version?: string;
  state?: string;
  /** By default that of the only host. */
  agentId?: string;
  /** Null: no plan yet. */
  plan?: PlanAction[] | null;
}

/** An action with all members that the gate and the wire require. */
const DISTRIBUTION = { apt: 'Debian:12/stable', dnf: 'baseos' } as const;

export function actionOf(given: {
  name: string;
  version: string;
  ecosystem?: Ecosystem;
  fields?: Partial<PlanAction>;
}): PlanAction {
  const { name, version, ecosystem = 'apt', fields = {} } = given;
  const isSystem = ecosystem === 'apt' || ecosystem === 'dnf';
  return {
    action: 'upgrade',
    name,
    from_version: '1.0.0-1',
    to_version: version,
    ...(isSystem ? { source_name: name, source_version: version, origin: DISTRIBUTION[ecosystem] } : {}),
    artifact: {
      filename: `${name}.pkg`,
      url: `https://mirror.example/${name}.pkg`,
      size_bytes: 10,
      sha256: 'a'.repeat(64),
    },
    ...fields,
  };
}

export function updateRow(given: {
  id: string;
  agentId: string;
  ecosystem: Ecosystem;
  name: string;
  version: string;
  state: string;
  now: number;
}): UpdateRow {
  const { id, agentId, ecosystem, name, version, state, now } = given;
  return {
    id,
    agent_id: agentId,
    ecosystem,
    name,
    arch: '',
    current_version: '1.0.0-1',
    available_version: version,
    origin: null,
    security: 0,
    size_bytes: null,
    ...{ offers: 0, change: null, recommended: RECOMMENDED_ALWAYS },
    state,
    state_reason: null,
    out_of_band: 0,
    plan_id: null,
    approval_id: null,
    not_before: null,
    taken_back: 0,
    rollback_of: null,
    verdict: null,
    severity: null,
    known_exploited: null,
    epss: null,
    queue_rank: null,
    ...{ introduces: null, stays: null, fixes: null, stopped_under: null },
    ...{ fixes_severity: null, fixes_exploited: null, fix_rank: UNKNOWN_FIX },
    judged_at: null,
    discovered_at: now,
    updated_at: now,
  };
}
