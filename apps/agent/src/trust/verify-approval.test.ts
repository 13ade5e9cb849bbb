import { randomUUID } from 'node:crypto';
import type { ApprovalPayload } from '@tidegate/protocol/documents';
import type { Artifact, PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { CLOCK_SKEW_MS, timestamp } from '../platform/clock.ts';
import { createFleet, createKey, NOW_MS, updateOf, upgradeOf } from '../testing/fleet.ts';
import { type ApprovalContext, type ApprovalRefusal, verifyApproval } from './verify-approval.ts';

const fleet = createFleet();
const updateId = randomUUID();
const action = upgradeOf({ name: 'demo_2.0_all.deb', bytes: new TextEncoder().encode('demo') });
const sound = { updates: [updateOf(updateId)], actions: [action] };
const file = { filename: 'demo_2.0_all.deb', url: 'https://archive.test/demo', size_bytes: 4 };
const of = (artifact: Artifact): PlanAction => ({ ...action, artifact });

function judge(
  approval: ReturnType<typeof fleet.approval>,
  changed: Partial<ApprovalContext> = {},
): ApprovalRefusal | 'ok' {
  const { envelope, reference } = approval;
  const context = {
    trusted: fleet.trusted,
    agentId: fleet.agentId,
    updateIds: [updateId],
    reference,
    nowMs: NOW_MS,
  };
  const outcome = verifyApproval(envelope, { ...context, ...changed });
  return outcome.ok ? 'ok' : outcome.reason;
}

test('an approval that the command names and a trusted key signed is verified (A4)', () => {
  expect(judge(fleet.approval(sound))).toBe('ok');
});

test('a bundled package is sound if its bundler is approved with the same file, in npm alone', () => {
  const inner: PlanAction = {
    ...{ ...action, action: 'install', name: 'inner', to_version: '1.0.0' },
    ...{ source_name: action.name, source_version: action.to_version ?? '' },
  };
  const approve = (ecosystem: 'npm' | 'apt', actions: PlanAction[]) =>
    judge(fleet.approval({ ...sound, ecosystem, actions }));
  expect(approve('npm', [action, inner, { ...inner, name: 'deep' }])).toBe('ok');
  expect(approve('apt', [action, inner])).toBe('unsound_plan');
  expect(approve('npm', [action, { ...inner, source_version: '1.9' }])).toBe('unsound_plan');
});

test('an override changes no check (A4)', () => {
  const override = { by: 'operator', reason_sha256: 'a'.repeat(64), event_id: randomUUID() };
  expect(judge(fleet.approval({ ...sound, override }))).toBe('ok');
  expect(judge(fleet.approval({ ...sound, override, plan_sha256: 'b'.repeat(64) }))).toBe(
    'plan_digest_differs',
  );
});

describe('an approval of several updates', () => {
  const ids = [randomUUID(), randomUUID(), randomUUID()].toSorted();
  const names = ids.map((_, i) => `part-${i}`);
  const updates = ids.map((id, i) => updateOf(id, { name: names[i] ?? '' }));
  const actions = names.map((name) => ({
    ...upgradeOf({ name: `${name}.deb`, bytes: new TextEncoder().encode(name) }),
    name,
  }));
  const all = { updates, actions };
  const [one = ''] = ids;

  test('is verified for exactly the updates that the command names', () => {
    expect(judge(fleet.approval(all), { updateIds: ids })).toBe('ok');
  });

  test.each<[string, readonly string[]]>([
    ['one update fewer', ids.slice(1)],
    ['one update more', [...ids, randomUUID()].toSorted()],
    ['another update', [...ids.slice(1), randomUUID()].toSorted()],
    ['another order', ids.toReversed()],
    ['an update twice', [one, ...ids.slice(0, 2)]],
    ['none', []],
  ])('a command that names %s is refused', (_, updateIds) => {
    expect(judge(fleet.approval(all), { updateIds })).toBe('wrong_updates');
  });

  test.each<[ApprovalRefusal, string, Partial<ApprovalPayload>]>([
    ['wrong_updates', 'names them in another order', { updates: updates.toReversed() }],
    ['unsound_plan', 'has no action for one of them', { actions: actions.slice(1) }],
    [
      'unsound_plan',
      'brings one to another version',
      {
        updates: [...updates.slice(1)].toSpliced(0, 0, updateOf(one, { name: 'part-0', to_version: '2.1' })),
      },
    ],
    [
      'unsound_plan',
      'brings one in another place',
      {
        updates: updates.with(0, { ...(updates[0] ?? updateOf(one)), arch: '/srv/a' }),
        actions: actions.map((each) => ({ ...each, arch: '/srv/b' })),
      },
    ],
    [
      'malformed',
      'names more than 2,000',
      { updates: Array.from({ length: 2_001 }, () => updateOf(randomUUID())) },
    ],
  ])('%s: one that %s', (reason, _, members) => {
    expect(judge(fleet.approval({ ...all, ...members }), { updateIds: ids })).toBe(reason);
  });

  test('a package may move between an architecture and all', () => {
    const moved = updates.with(0, { ...(updates[0] ?? updateOf(one)), arch: 'amd64' });
    const toAll = actions.map((each) => ({ ...each, arch: 'all' }));
    expect(judge(fleet.approval({ updates: moved, actions: toAll }), { updateIds: ids })).toBe('ok');
  });
});

test.each<[ApprovalRefusal, ReturnType<typeof fleet.approval>]>([
  ['bad_signature', fleet.approval(sound, createKey(1))],
  ['wrong_fleet', fleet.approval({ ...sound, fleet_id: randomUUID() })],
  ['wrong_agent', fleet.approval({ ...sound, agent_id: randomUUID() })],
  ['wrong_updates', fleet.approval({ ...sound, updates: [updateOf(randomUUID())] })],
  ['expired', fleet.approval({ ...sound, expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) })],
  ['plan_digest_differs', fleet.approval({ ...sound, plan_sha256: 'a'.repeat(64) })],
  ['malformed', fleet.approval({ updates: [updateOf(updateId)], actions: [] })],
  ['unsound_plan', fleet.approval({ ...sound, actions: [{ ...action, name: 'other' }] })],
  [
    'unsound_plan',
    fleet.approval({ ...sound, actions: [of({ ...file, filename: '..', sha256: 'a'.repeat(64) })] }),
  ],
  [
    'unsound_plan',
    fleet.approval({ ...sound, actions: [of({ ...file, filename: 'a\\b', sha256: 'a'.repeat(64) })] }),
  ],
  ['unsound_plan', fleet.approval({ ...sound, actions: [of(file)] })],
  ['unsound_plan', fleet.approval({ ...sound, actions: [action, { ...action, name: 'same-file' }] })],
])('%s', (reason, approval) => {
  expect(judge(approval)).toBe(reason);
});

test('keys are trusted until their set expires (T12)', () => {
  const trusted = { ...fleet.trusted, expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) };
  expect(judge(fleet.approval(sound), { trusted })).toBe('expired_keys');
});

test('all its signatures are returned, for a host that requires more than one', () => {
  const { envelope, reference } = fleet.approval(sound);
  const context = {
    trusted: fleet.trusted,
    agentId: fleet.agentId,
    updateIds: [updateId],
    reference,
    nowMs: NOW_MS,
  };
  expect(verifyApproval(envelope, context)).toMatchObject({ ok: true, approval: { envelope } });
});

test('mix and match: a genuine approval other than the one that the command names is refused (T13)', () => {
  const named = fleet.approval(sound);
  const { envelope } = fleet.approval(sound);
  expect(judge({ envelope, reference: named.reference })).toBe('not_the_referenced_one');
  const token_id = named.reference.token_id;
  expect(
    judge({
      ...fleet.approval({ ...sound, token_id, issued_at: timestamp(NOW_MS - 1_000) }),
      reference: named.reference,
    }),
  ).toBe('not_the_referenced_one');
  const sameBytes = { ...named.reference, token_id: randomUUID() };
  expect(judge({ envelope: named.envelope, reference: sameBytes })).toBe('not_the_referenced_one');
});
