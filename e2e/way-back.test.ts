import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { type Host, must } from './harness/host.ts';
import { expectAnswer, type Operator } from './harness/operator.ts';
import { OFTEN, OPERATOR } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';
import { ADVISORY, AFFECTED, NEW, OLD, STORY } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const Told = Type.Object({ dry_run: Type.Literal(false), ...RollbackAnswer.properties });
const REASON = 'demo 1.1 does not start';
const FORGOTTEN = [
  { name: 'demo', version: '1.0-1' },
  { name: 'libdemo', version: '1.0-1' },
];

describe.skipIf(missing !== null).each(storyEngines('postgres'))('the way back on $name', (engine) => {
  test('an installation is undone on two hosts from the command line, with files that no archive has any more', async () => {
    const { operator, enrolled, server } = await createWorld(engine, OFTEN);
    const hosts = [await enrolled({ packages: [STORY] }), await enrolled({ packages: [STORY] })];
    const ids = hosts.map((host) => host.agentId());
    await Promise.all(hosts.map((host) => installed(operator, host)));
    const words = ['rollback', 'demo', NEW.demo, '--author', OPERATOR.username, '--reason', REASON];
    expect(await server.command(...words, '--dry-run')).toContain('Would undo demo 1.1-1 on 2 hosts.');
    const told = Value.Parse(Told, JSON.parse(await server.command(...words, '--json')));
    expect(told.skipped).toEqual([]);
    const { requested } = told;
    expect(requested.map(({ agent_id: id }) => id).sort()).toEqual(ids.toSorted());
    for (const host of hosts) must(await host.runOnce());
    for (const { update_id: id } of requested) await untilState(operator, id, 'approved');
    for (const host of hosts) {
      must(await host.runOnce());
      expect(await host.installed()).toEqual(OLD);
    }
    for (const { update_id: id } of requested) await untilState(operator, id, 'installed');
    const events = await operator.events({ type: 'rollback_requested' });
    expect(events.map(({ actor, content }) => [actor, content.actor, content.reason])).toEqual(
      hosts.map(() => ['cli', OPERATOR.username, REASON]),
    );
  });

  test('an old version with a known vulnerability is not installed without an override', async () => {
    const { osv, operator, enrolled } = await createWorld(engine, OFTEN);
    osv.addRecord(
      { id: ADVISORY, summary: 'a flaw in the old library' },
      AFFECTED.map((one) => ({ ...one, versions: ['1.0-1'] })),
    );
    const host = await enrolled({ packages: [STORY] });
    const update = await installed(operator, host);
    const [{ update_id: id } = { update_id: null }] = (await rollBack(operator, [update])).requested;
    must(await host.runOnce());
    await untilState(operator, id, 'pending');
    must(await host.runOnce());
    expect(await host.installed()).toEqual(NEW);
    const override = { override_supply_chain: true, override_reason: 'the new one does not start at all' };
    await operator.approved(id ?? '', override);
    must(await host.runOnce());
    expect(await host.installed()).toEqual(OLD);
  });

  test('an exchanged file in the store of the host is not installed', async () => {
    const { operator, enrolled } = await createWorld(engine, OFTEN);
    const host = await enrolled({ packages: [STORY] });
    const update = await installed(operator, host);
    const [{ update_id: id } = { update_id: null }] = (await rollBack(operator, [update])).requested;
    must(await host.runOnce());
    await untilState(operator, id, 'approved');
    spoil(host, 'demo_1.0-1_all.deb');
    await host.runOnce();
    await untilState(operator, id, 'failed');
    expect(await host.installed()).toEqual(NEW);
    const [event] = await operator.events({ type: 'ARTIFACT_MISMATCH' });
    expect(event?.agent_id).toBe(host.agentId());
  });
});

/** Installs the story's update; then the archive forgets the versions before. */
async function installed(operator: Operator, host: Host): Promise<string> {
  const [update] = await operator.updates({ name: 'demo', agent_id: host.agentId() });
  const id = update?.id ?? '';
  expect((await operator.update(id)).way_back).toEqual({ kind: 'complete', missing: [], missing_count: 0 });
  await operator.approved(id);
  must(await host.runOnce());
  await untilState(operator, id, 'installed');
  expect(await host.installed()).toEqual(NEW);
  await host.apt.withdraw(...FORGOTTEN);
  return id;
}

async function rollBack(operator: Operator, updateIds: readonly string[]) {
  const body = { update_ids: updateIds, reason: REASON };
  return expectAnswer(await operator.call('POST', '/api/v1/updates/rollback', body), 200, RollbackAnswer);
}

async function untilState(operator: Operator, id: string | null, state: string): Promise<void> {
  const read = async () => (await operator.update(id ?? '')).state;
  await expect.poll(read, { interval: 250 }).toBe(state);
}

/** Changes one byte of a kept file. */
function spoil(host: Host, filename: string): void {
  const kept = join(host.configDir, 'kept');
  const folder = readdirSync(kept).find(
    (name) => name !== 'index.json' && readdirSync(join(kept, name)).includes(filename),
  );
  const path = join(kept, folder ?? '', filename);
  const bytes = readFileSync(path);
  bytes[1_000] = (bytes[1_000] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}
