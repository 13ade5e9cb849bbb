import type { CommandResult } from '@tidegate/protocol/agent-api';
import { CommandPayload, Envelope } from '@tidegate/protocol/documents';
import type { ProbeResult } from '@tidegate/protocol/probes';
import type { RestartReport } from '@tidegate/protocol/restarts';
import type { Ring } from '@tidegate/protocol/rings';
import type { RolloutDetail } from '@tidegate/protocol/rollouts-api';
import { Value } from 'typebox/value';
import { expect } from 'vitest';
import { saveRestarts } from '../agents/restarts-store.ts';
import { readRecord } from '../approvals/read-decision.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { recordResult } from '../commands/record-result.ts';
import { insertOperator } from '../operators/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { createRefused } from '../policy-runs/refused.ts';
import { runPoliciesOnce } from '../policy-runs/run-policies.ts';
import { recordProbes } from '../probes/record-probes.ts';
import { runRolloutsOnce } from '../rollout-runs/run-rollouts.ts';
import { findUpdate } from '../updates/store.ts';
import { insertTestAgent } from './agent-rows.ts';
import { type ApprovalsAppOptions, actionOf, createApprovalsApp } from './approvals-app.ts';
import type { TestEngine } from './engines.ts';
import { insertInstalled } from './installed-rows.ts';
import { LISTENS } from './listens.ts';
import { STANDING } from './standing.ts';

const MINUTE_MS = 60_000;

/** A server with hosts that report through the ordinary path; the first host belongs to no group. */
export async function createRolloutScene(
  engine: TestEngine,
  { authorRole = 'approver', ...options }: ApprovalsAppOptions & { authorRole?: 'approver' | 'admin' } = {},
) {
  const it = await createApprovalsApp(engine, options);
  const { database, platform, keyRing, clock } = it;
  const db = database.read;
  await database.transact(async (tx) => {
    const ada = { id: '01900000-0000-7000-a000-000000000001', username: 'ada', password_hash: 'x' };
    await insertOperator(tx, { ...ada, role: authorRole, groups: null, created_at: 1, disabled_at: null });
  });
  const refused = createRefused();
  let hosts = 1;
  /** Commands that each host has taken and not reported. */
  const taken = new Map<string, string[]>();

  async function seen(agentId: string): Promise<void> {
    const row = { last_seen_at: platform.now() };
    await database.transact((tx) =>
      tx
        .insertInto('agent_presence')
        .values({ agent_id: agentId, ...row })
        .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
        .execute(),
    );
  }

  /** A host of a group that offers openssl. */
  async function host(group?: string, { offers = true, arch = 'amd64', enrolledAtMs = 1 } = {}) {
    hosts += 1;
    const given = { n: hosts, ...(group === undefined ? {} : { group }) };
    const { agentId } = await insertTestAgent(database, given);
    const set = { enrolled_at: enrolledAtMs, os_arch: arch };
    await database.transact((tx) => tx.updateTable('agents').set(set).where('id', '=', agentId).execute());
    await seen(agentId);
    const updateId = offers ? await offerTo(agentId) : '';
    return { agentId, updateId, machineId: `machine-${hosts}` };
  }
  type Host = Awaited<ReturnType<typeof host>>;

  async function offerTo(agentId: string, { name = 'openssl', version = '3.0.12-1' } = {}): Promise<string> {
    return it.addUpdate({ agentId, name, version });
  }

  async function publish(rings: readonly Ring[], change: object = {}) {
    const { status, body } = await it.call('POST', '/api/v1/policies', { ...STANDING, rings, ...change });
    expect(status, JSON.stringify(body)).toBe(201);
    return body;
  }

  async function run(listening = LISTENS): Promise<void> {
    await runPoliciesOnce(it.deps, refused);
    await runRolloutsOnce(it.deps, { refused, listening });
  }

  /** A check-in: the actions that the host gets. */
  async function visit({ agentId, machineId }: Host): Promise<string[]> {
    await seen(agentId);
    const visiting = { agentId, machineId, received: [] };
    const texts = await database.transact((tx) => deliverCommands(tx, platform, keyRing, visiting));
    const commands = texts.map((text) => {
      const { payload } = Value.Parse(Envelope, JSON.parse(text));
      return Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString()));
    });
    const installs = commands.filter(({ action }) => action === 'install_update');
    taken.set(agentId, [...(taken.get(agentId) ?? []), ...installs.map((one) => one.command_id)]);
    return commands.map(({ action }) => action);
  }

  /** Reports every installation that the host has taken. */
  async function report(
    { agentId }: Host,
    status: CommandResult['status'],
    more: Partial<CommandResult> = {},
  ): Promise<void> {
    const ids = taken.get(agentId) ?? [];
    expect(ids, 'the host has taken nothing').not.toEqual([]);
    const end = status === 'running' ? {} : { finished_at: rfc3339(platform.now()) };
    for (const commandId of ids) {
      const result: CommandResult = { status, ...end, ...more };
      await database.transact((tx) => recordResult(tx, platform, { agentId, commandId, result }));
    }
    if (status !== 'running') taken.delete(agentId);
  }

  /** Its probes, looked at now, or so many milliseconds later by the host's own clock. */
  async function look({ agentId }: Host, state: ProbeResult['state'], shiftMs = 0): Promise<void> {
    const at = rfc3339(platform.now() + shiftMs);
    const probes: ProbeResult[] = [{ name: 'web', kind: 'tcp', state }];
    await database.transact((tx) => recordProbes(tx, platform, { agentId, report: { at, probes } }));
  }

  /** Its own evidence says so, in its present boot. */
  async function needsReboot({ agentId }: Host): Promise<void> {
    const report: RestartReport = {
      ...{ observed_at: rfc3339(platform.now()), boot_id: 'boot-1' },
      services: { need: 'not_needed', stale: [], more_services: 0 },
      reboot: { need: 'needed', evidence: [], packages: [], livepatch: 'inactive' },
    };
    await database.transact(async (tx) => {
      await tx.updateTable('agents').set({ boot_id: 'boot-1' }).where('id', '=', agentId).execute();
      await saveRestarts(tx, { agentId, nowMs: platform.now(), report });
    });
  }

  async function install(host: Host): Promise<void> {
    expect(await visit(host)).toContain('install_update');
    await report(host, 'success');
  }

  /** What its next scan would say. */
  async function reportsInstalled({ agentId }: Host, versions: Record<string, string>): Promise<void> {
    const nothing = { source_name: null, source_version: null, origin: null, held: 0 };
    const row = { agent_id: agentId, ecosystem: 'apt', arch: 'amd64', ...nothing } as const;
    const rows = Object.entries(versions).map(([name, version]) => ({ ...row, name, version }));
    await database.transact((tx) => insertInstalled(tx, rows));
  }

  async function rollouts(): Promise<RolloutDetail[]> {
    const { body } = await it.call('GET', '/api/v1/rollouts');
    const all: RolloutDetail[] = [];
    for (const { id } of body.items) all.push((await it.call('GET', `/api/v1/rollouts/${id}`)).body);
    return all;
  }

  async function rollout(): Promise<RolloutDetail> {
    const [newest] = await rollouts();
    if (!newest) throw new Error('there is no rollout');
    return newest;
  }

  const act = async (what: string, body: object = { reason: 'It was looked at.' }) =>
    it.call('POST', `/api/v1/rollouts/${(await rollout()).id}/${what}`, body);
  const decisions = async () => {
    const rows = await db.selectFrom('decisions').selectAll().orderBy('id').execute();
    return rows.map(readRecord);
  };
  /** The plan that a host was asked for. */
  const planFor = (updateId: string, name = 'openssl', version = '3.0.12-1') =>
    it.addPlan([updateId], [actionOf({ name, version })]);
  const stateOf = async ({ updateId }: Pick<Host, 'updateId'>) => (await findUpdate(db, updateId))?.state;
  const eventsOf = async (type: string) => {
    const rows = await db.selectFrom('events').selectAll().where('type', '=', type).orderBy('id').execute();
    return rows.map(({ content, severity }) => ({ ...JSON.parse(content), severity }));
  };
  const minutes = (count: number) => clock.advance(count * MINUTE_MS);
  return {
    ...{
      ...it,
      refused,
      host,
      offerTo,
      publish,
      run,
      visit,
      report,
      look,
      install,
      needsReboot,
      reportsInstalled,
      seen,
      decisions,
      planFor,
    },
    ...{ rollout, rollouts, act, stateOf, eventsOf, minutes },
  };
}
