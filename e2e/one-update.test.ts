import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import { HostFaults } from '@tidegate/protocol/host-faults-api';
import { ReportItem } from '@tidegate/protocol/inventory-api';
import { RESTART_NEEDS } from '@tidegate/protocol/restarts';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { type Host, must } from './harness/host.ts';
import {
  type Approved,
  Blocked,
  codeOf,
  expectAnswer,
  type Operator,
  untilClear,
} from './harness/operator.ts';
import { ADVISORY, AFFECTED, NEW, OLD, STORY, TRACE } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

/** Answers about vulnerabilities that are older than 7 s are asked for again. */
const SHORT_MEMORY = { SERVICE_ADVISORY_MAX_AGE_HOURS: '0.002' };

const missing = storyMissing();

describe.skipIf(missing !== null).each(ENGINES)('one update on $name', (engine) => {
  test('is blocked by an advisory on its dependency (A1), overridden with a reason (A3), verified and installed (A4), and recorded (A5)', async () => {
    const { osv, operator, enrolled, server } = await createWorld(engine);
    osv.addRecord({ id: ADVISORY, summary: 'a flaw in the library' }, AFFECTED);
    const host = await enrolled({ packages: [STORY] });
    expect(await host.installed()).toEqual(OLD);

    await expectTimely(operator, host);

    const update = await updateOf(operator, 'demo');
    expect(update).toMatchObject({ state: 'pending', current_version: '1.0-1', available_version: '1.1-1' });
    const planned = (await operator.update(update.id)).plan?.actions ?? [];
    expect(planned.map(({ name, to_version }) => [name, to_version]).sort()).toEqual(
      Object.entries(NEW).sort(),
    );

    const blocked = expectAnswer(await operator.approve(update.id), 409, Blocked);
    expect(blocked).toMatchObject({ blocked_by: 'vulnerability', reason: 'known_vulnerability' });
    expect(blocked.overridable).toBe(true);
    expect(blocked.introduces).toContainEqual(
      expect.objectContaining({ id: ADVISORY, in_closure: 'dependency' }),
    );
    must(await host.runOnce());
    expect(await host.installed()).toEqual(OLD);

    const unreasoned = await operator.approve(update.id, { override_supply_chain: true });
    expect([unreasoned.status, codeOf(unreasoned)]).toEqual([400, 'override_reason_required']);
    const reason = 'the flaw needs a feature that we do not use';
    const approved = await operator.approved(update.id, {
      override_supply_chain: true,
      override_reason: reason,
    });
    const token = payloadOf(approved);
    expect(token.verdict.vulnerability).toBe('vulnerable');
    expect(token.override?.reason_sha256).toBe(sha256(reason));
    expectRealHashes(token, host);

    must(await host.runOnce());
    await expectInstalled(operator, host, update.id);
    const [override] = await operator.events({ type: 'supply_chain_override' });
    expect(override).toMatchObject({ kind: 'system', component: 'security' });
    expect(override?.content).toMatchObject({ reason, update_id: update.id });
    const security = server.lines().filter((line) => line.startsWith('[SECURITY]'));
    expect(security.some((line) => line.includes('[supply_chain] approval_blocked'))).toBe(true);
    expect(security.some((line) => line.includes('[supply_chain] gate_overridden'))).toBe(true);
  });

  test('passes without an override once the advisory is withdrawn', async () => {
    const { osv, operator, enrolled } = await createWorld(engine, SHORT_MEMORY);
    osv.addRecord({ id: ADVISORY, summary: 'a flaw in the library' }, AFFECTED);
    const host = await enrolled({ packages: [STORY] });
    const update = await updateOf(operator, 'demo');
    expectAnswer(await operator.approve(update.id), 409, Blocked);

    osv.withdraw(ADVISORY);
    await untilClear(operator, update.id);
    const approved = await operator.approved(update.id);
    expect(approved.warnings).toEqual([]);
    const token = payloadOf(approved);
    expect(token).toMatchObject({ override: null, verdict: { vulnerability: 'clear' } });
    expectRealHashes(token, host);

    must(await host.runOnce());
    await expectInstalled(operator, host, update.id);
    expect(await operator.events({ type: 'supply_chain_override' })).toEqual([]);
  });
});

async function updateOf(operator: Operator, name: string) {
  const [update, ...others] = await operator.updates({ name });
  if (update === undefined || others.length > 0) throw new Error(`not one update of ${name}`);
  return update;
}

/** The host has said how old its lists are and what its clock shows, and neither is a fault. */
async function expectTimely(operator: Operator, host: Host): Promise<void> {
  const path = `/api/v1/agents/${host.agentId()}`;
  const inventory = await operator.call('GET', `${path}/inventory?limit=1`);
  const { reports } = expectAnswer(inventory, 200, Type.Object({ reports: Type.Array(ReportItem) }));
  const listsAt = reports.find(({ ecosystem }) => ecosystem === 'apt')?.lists_confirmed_at ?? '';
  expect(Date.now() - Date.parse(listsAt)).toBeLessThan(10 * 60_000);
  const faults = expectAnswer(await operator.call('GET', `${path}/faults`), 200, HostFaults).items;
  expect(faults.filter(({ kind }) => kind === 'lists_stale' || kind === 'clock_wrong')).toEqual([]);
}

/** Every sign of an installation: dpkg, the maintainer scripts, the update, its command and the events. */
async function expectInstalled(operator: Operator, host: Host, updateId: string): Promise<void> {
  const commands = await operator.commands({ agent_id: host.agentId() });
  const installs = commands.filter(({ action }) => action === 'install_update');
  expect(installs.map(({ status, reason }) => [status, reason])).toEqual([['success', null]]);
  // What runs old code afterwards, and whether the host needs a reboot: looked at, and never just assumed to be fine.
  const [{ restarts } = { restarts: null }] = installs;
  expect(restarts?.boot_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(restarts?.reboot.running_kernel?.release).toBe(release());
  expect(RESTART_NEEDS).toContain(restarts?.services.need);
  expect(await host.installed()).toEqual(NEW);
  // Each script ran once, with only the loopback device: the executor has no network.
  const runs = Object.entries(NEW).map(([name, version]) => `${name} ${version} lo`);
  expect((await host.trace(TRACE)).sort()).toEqual(runs.sort());
  const after = await operator.update(updateId);
  expect([after.state, after.out_of_band]).toEqual(['installed', false]);
  expect(await operator.events({ type: 'update_installed' })).toHaveLength(1);
  const debs = Object.keys(NEW).map((name) => host.apt.fetched.filter((path) => path.includes(`/${name}_`)));
  expect(debs.every((paths) => paths.length > 0)).toBe(true);
}

/** A4: the token has the hashes of the files in the archive. */
function expectRealHashes(token: ApprovalPayload, host: Host): void {
  const bound = token.actions.map(({ name, artifact }) => [name, artifact?.sha256]);
  const real = Object.entries(NEW).map(([name, version]) => [
    name,
    sha256(readFileSync(host.apt.debPath(name, version))),
  ]);
  expect(bound.sort()).toEqual(real.sort());
}

function payloadOf({ token }: Approved): ApprovalPayload {
  const payload: unknown = JSON.parse(Buffer.from(token.payload, 'base64').toString('utf8'));
  return Value.Parse(ApprovalPayload, payload);
}

function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
