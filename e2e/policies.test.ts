import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import { PolicyDetail, PolicyPreview } from '@tidegate/protocol/policies-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { STANDING } from '../apps/server/src/testing/standing.ts';
import { must } from './harness/host.ts';
import { expectAnswer, type Operator } from './harness/operator.ts';
import { OFTEN } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';
import { ADVISORY, AFFECTED, NEW, OLD, STORY } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const DAY_MS = 86_400_000;
const Decisions = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String(), actor: Type.String(), outcome: Type.String() })),
});
const Record = Type.Object({
  request: Type.Object({ standing: Type.Object({ policy_id: Type.String() }) }),
});
const Decision = Type.Object({ record: Record });

describe.skipIf(missing !== null).each(storyEngines('postgres'))('a policy on $name', (engine) => {
  test('approves what is clear by itself, as its author; the host installs it, and the token names the policy', async () => {
    const { operator, enrolled, proxy } = await createWorld(engine, OFTEN);
    const host = await enrolled({ packages: [STORY] });
    const policy = await publish(operator);
    await untilState(operator, 'approved');
    const fetched: unknown[] = [];
    proxy.tamper = ({ path, body }) => {
      if (path.includes('/approvals/')) fetched.push(body);
      return body;
    };
    must(await host.runOnce());
    const reference = { policy_id: policy.id, sha256: policy.sha256 };
    expect(fetched.map(payloadOf)).toMatchObject([{ policy: reference, override: null }]);
    expect(await host.installed()).toEqual(NEW);
    await untilState(operator, 'installed');
    const [approved] = await operator.events({ type: 'update_approved' });
    expect(approved).toMatchObject({
      actor: 'policy',
      content: { approved_by: policy.author, policy: { policy_id: policy.id, sha256: policy.sha256 } },
    });
    const { body } = await operator.call('GET', `/api/v1/policies/${policy.id}`);
    expect(body).toMatchObject({ last_run: { approved: 2, stopped: 0 } });
  });

  test('leaves to people what the gate stops, and says why', async () => {
    const { osv, operator, enrolled } = await createWorld(engine, OFTEN);
    osv.addRecord({ id: ADVISORY, summary: 'a flaw in the library' }, AFFECTED);
    const host = await enrolled({ packages: [STORY] });
    const policy = await publish(operator);
    await expect
      .poll(() => decisionsOf(operator), { interval: 250 })
      .toContainEqual(expect.objectContaining({ actor: 'policy', outcome: 'blocked' }));
    const answer = await operator.call('GET', `/api/v1/policies/${policy.id}/preview`);
    expect(expectAnswer(answer, 200, PolicyPreview)).toMatchObject({
      ...{ hosts: 1, approves: 0 },
      reasons: [{ reason: 'known_vulnerability', count: 2 }],
    });
    must(await host.runOnce());
    expect(await host.installed()).toEqual(OLD);
  });

  test('outside of its windows it asks for nothing, and inside them the end is signed', async () => {
    const { operator, enrolled } = await createWorld(engine, OFTEN);
    const host = await enrolled({ packages: [STORY] });
    const tomorrow = windowAt(Date.now() + DAY_MS);
    const closed = await publish(operator, { name: 'Tomorrow', windows: [tomorrow] });
    // Both updates are judged a moment after the report.
    const preview = async () => {
      const answer = await operator.call('GET', `/api/v1/policies/${closed.id}/preview`);
      return expectAnswer(answer, 200, PolicyPreview);
    };
    await expect.poll(preview, { interval: 250 }).toMatchObject({
      ...{ open_window: null, approves: 2 },
      next_windows: [{ opens_at: `${tomorrow.starts_on}T${tomorrow.start}:00.000Z` }],
    });
    const now = windowAt(Date.now());
    const open = await publish(operator, { name: 'Now', windows: [now] });
    await untilState(operator, 'approved');
    const [decision] = await decisionsOf(operator);
    const read = await operator.call('GET', `/api/v1/decisions/${decision?.id}`);
    expect(expectAnswer(read, 200, Decision).record.request.standing.policy_id).toBe(open.id);
    const [command] = await operator.commands({ agent_id: host.agentId(), action: 'install_update' });
    const endMs = Date.parse(`${now.starts_on}T${now.start}:00Z`) + now.duration_minutes * 60_000;
    expect(Date.parse(command?.expires_at ?? '')).toBe(endMs - 5 * 60_000);
  });

  test('is refused by a host whose owner takes approvals of people only', async () => {
    const { operator, enrolled } = await createWorld(engine, OFTEN);
    const policyFile = hostPolicy({ v: 1, standing_approvals: 'refuse' });
    const host = await enrolled({ packages: [STORY], policyFile });
    await publish(operator);
    await untilState(operator, 'approved');
    must(await host.runOnce());
    expect(await host.installed()).toEqual(OLD);
    const [command] = await operator.commands({ agent_id: host.agentId(), action: 'install_update' });
    expect(command).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('this host takes approvals of people only'),
    });
    // A person may approve the same.
    const [update] = await operator.updates({ name: 'demo' });
    await operator.call('DELETE', `/api/v1/policies/${(await policies(operator))[0]?.id}`);
    await operator.call('POST', `/api/v1/updates/${update?.id}/reopen`, {});
    await operator.approved(update?.id ?? '');
    must(await host.runOnce());
    expect(await host.installed()).toEqual(NEW);
  });
});

async function publish(operator: Operator, change: object = {}): Promise<PolicyDetail> {
  const ends_at = new Date(Date.now() + 30 * DAY_MS).toISOString();
  const answer = await operator.call('POST', '/api/v1/policies', { ...STANDING, ends_at, ...change });
  return expectAnswer(answer, 201, PolicyDetail);
}

async function policies(operator: Operator) {
  const answer = await operator.call('GET', '/api/v1/policies');
  return expectAnswer(answer, 200, Type.Object({ items: Type.Array(Type.Object({ id: Type.String() })) }))
    .items;
}

/** The policies run every second. */
async function untilState(operator: Operator, state: string): Promise<void> {
  await expect
    .poll(async () => (await operator.updates({ name: 'demo' })).map((update) => update.state), {
      interval: 250,
    })
    .toEqual([state]);
}

async function decisionsOf(operator: Operator) {
  const [update] = await operator.updates({ name: 'demo' });
  const url = `/api/v1/updates/${update?.id}/decisions`;
  const { items } = expectAnswer(await operator.call('GET', url), 200, Decisions);
  return items;
}

function payloadOf(envelope: unknown): ApprovalPayload {
  const { payload } = Value.Parse(Type.Object({ payload: Type.String() }), envelope);
  return Value.Parse(ApprovalPayload, JSON.parse(Buffer.from(payload, 'base64').toString('utf8')));
}

/** A window of two hours, once, in UTC, from the hour before this moment. */
function windowAt(ms: number) {
  const [starts_on = '', time = ''] = new Date(ms - 3_600_000).toISOString().split('T');
  const start = `${time.slice(0, 2)}:00`;
  return { rrule: null, starts_on, start, zone: 'UTC', duration_minutes: 240 };
}

/** Root reads a policy only where nobody else can change a folder on the way: not in the folder for temporary files. */
function hostPolicy(policy: object): string {
  const folder = mkdtempSync('/run/tidegate-story-');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'policy.json');
  writeFileSync(path, JSON.stringify(policy), { mode: 0o644 });
  return path;
}
