import { randomUUID } from 'node:crypto';
import type { ApprovalPayload, ApprovedUpdate, Envelope } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { countersign } from '@tidegate/signing/sign';
import { loadTrustedKey } from '@tidegate/signing/verify';
import { describe, expect, test } from 'vitest';
import { createFleet, createKey, NOW_MS, type TestKey, updateOf, upgradeOf } from '../testing/fleet.ts';
import { verifyApproval } from '../trust/verify-approval.ts';
import {
  type HostPolicy,
  judgeByPolicy,
  judgeRebootByPolicy,
  judgeRepairByPolicy,
  judgeRestartByPolicy,
  type PolicyCheck,
} from './policy-rules.ts';

const fleet = createFleet();
const [ops, night, stranger] = [createKey(1), createKey(2), createKey(3)];
const action = upgradeOf({ name: 'demo_2.0_all.deb', bytes: new TextEncoder().encode('demo') });
const other = (name: string): PlanAction => {
  const made = upgradeOf({ name: `${name}.deb`, bytes: new TextEncoder().encode(name) });
  return { ...made, action: 'install', name };
};

interface Given {
  members?: Partial<ApprovalPayload>;
  update?: Partial<ApprovedUpdate>;
  sign?: (envelope: Envelope) => Envelope;
  nowMs?: number;
  serverKeys?: TestKey[];
}

function judge(policy: Partial<HostPolicy>, { members = {}, update, sign, nowMs, serverKeys }: Given = {}) {
  const updateId = randomUUID();
  const { envelope, reference } = fleet.approval({
    updates: [updateOf(updateId, update)],
    actions: [action],
    ...members,
  });
  const trusted = { ...fleet.trusted, keys: [fleet.key, ...(serverKeys ?? [])].map(({ entry }) => entry) };
  const context = { trusted, agentId: fleet.agentId, updateIds: [updateId], reference, nowMs: NOW_MS };
  const judged = verifyApproval(sign?.(envelope) ?? envelope, context);
  if (!judged.ok) throw new Error(judged.reason);
  return judgeByPolicy(
    { neverTouch: {}, ...policy },
    { approval: judged.approval, trusted, nowMs: nowMs ?? NOW_MS },
  );
}

function checkOf(policy: Partial<HostPolicy>, given?: Given): PolicyCheck | 'ok' {
  const verdict = judge(policy, given);
  return verdict.ok ? 'ok' : verdict.check;
}

test('an empty policy allows everything', () => {
  expect(checkOf({})).toBe('ok');
});

test.each<[HostPolicy['ecosystems'], PolicyCheck | 'ok']>([
  [['apt'], 'ok'],
  [['npm', 'apt'], 'ok'],
  [['npm'], 'ecosystem_not_allowed'],
  [[], 'ecosystem_not_allowed'],
])('of the ecosystems %j, apt is %s', (ecosystems, expected) => {
  expect(checkOf({ ...(ecosystems && { ecosystems }) })).toBe(expected);
});

describe('packages that are never touched', () => {
  const removal: PlanAction = { action: 'remove', name: 'libc6', from_version: '2.36' };
  test.each<[string, PlanAction[], string[], PolicyCheck | 'ok']>([
    ['the update itself', [action], ['demo'], 'never_touch'],
    ['a dependency', [action, other('linux-image-6.1')], ['linux-image-*'], 'never_touch'],
    ['a removal', [action, removal], ['libc6'], 'never_touch'],
    ['in another case', [action], ['DEMO'], 'never_touch'],
    ['none of them', [action, other('demo-data')], ['libc6', 'demo-dat'], 'ok'],
  ])('%s', (_, actions, apt, expected) => {
    expect(checkOf({ neverTouch: { apt } }, { members: { actions } })).toBe(expected);
  });

  test.each([
    ['flask_login', 'Flask.Login'],
    ['flask-*', 'flask_login'],
  ])('%s is %s on PyPI, however it is spelt (PEP 503)', (glob, name) => {
    const members: Partial<ApprovalPayload> = { ecosystem: 'pypi', actions: [action, other(name)] };
    expect(checkOf({ neverTouch: { pypi: [glob] } }, { members })).toBe('never_touch');
  });

  test('the globs of an ecosystem are for that one', () => {
    expect(checkOf({ neverTouch: { npm: ['*'] } })).toBe('ok');
  });
});

describe('updates of the agent', () => {
  const removal: PlanAction = { action: 'remove', name: 'tidegate-agent', from_version: '0.1.0' };
  test.each<[HostPolicy['agentUpdates'], 'apt' | 'dnf' | 'npm' | 'tidegate', PlanAction, PolicyCheck | 'ok']>(
    [
      ['never', 'apt', other('tidegate-agent'), 'agent_updates_never'],
      ['never', 'dnf', other('tidegate-agent'), 'agent_updates_never'],
      ['never', 'tidegate', other('tidegate-agent'), 'agent_updates_never'],
      ['never', 'apt', other('Tidegate-Agent'), 'agent_updates_never'],
      ['never', 'apt', removal, 'agent_updates_never'],
      ['never', 'apt', other('tidegate-agents'), 'ok'],
      ['never', 'npm', other('tidegate-agent'), 'ok'],
      ['allow', 'apt', other('tidegate-agent'), 'ok'],
      [undefined, 'apt', other('tidegate-agent'), 'ok'],
    ],
  )('where they are %s, %s %j is %s', (agentUpdates, ecosystem, second, expected) => {
    const members: Partial<ApprovalPayload> = { ecosystem, actions: [action, second] };
    const update = ecosystem === 'npm' ? { from_version: '1.0', to_version: '2.0' } : {};
    expect(checkOf({ ...(agentUpdates && { agentUpdates }) }, { members, update })).toBe(expected);
  });

  test('a repair configures none either', () => {
    const made = { arch: 'amd64', version: '0.1.0', state: 'unpacked', scripts: {} } as const;
    const packages = [{ ...made, name: 'tidegate-agent' }];
    const judged = judgeRepairByPolicy(
      { neverTouch: {}, agentUpdates: 'never' },
      { repair: { packages }, nowMs: NOW_MS },
    );
    expect(judged).toMatchObject({ ok: false, check: 'agent_updates_never' });
  });
});

describe('the greatest change', () => {
  /** `1.0.0 2.0.0` is an upgrade, `- 2.0.0` an installation, `1.0.0 -` a removal. */
  const move = (text: string, name = 'demo'): PlanAction => {
    const [from = '-', to = '-'] = text.split(' ');
    const { from_version: _, to_version: __, artifact, ...made } = other(name);
    return {
      ...made,
      ...(to !== '-' && artifact && { artifact }),
      action: from === '-' ? 'install' : to === '-' ? 'remove' : 'upgrade',
      ...(from !== '-' && { from_version: from }),
      ...(to !== '-' && { to_version: to }),
    };
  };
  test.each<['npm' | 'pypi' | 'apt', string[], HostPolicy['maxChange'], PolicyCheck | 'ok']>([
    ['npm', ['1.2.3 1.2.4'], 'patch', 'ok'],
    ['npm', ['1.2.3 1.3.0'], 'patch', 'change_too_great'],
    ['npm', ['1.2.3 1.3.0'], 'minor', 'ok'],
    ['npm', ['1.2.3 2.0.0'], 'minor', 'change_too_great'],
    ['npm', ['1.2.3 2.0.0'], 'any', 'ok'],
    ['npm', ['1.2.3 2.0.0'], undefined, 'ok'],
    ['npm', ['1.2.3 1.2.4', '1.0.0 2.0.0'], 'minor', 'change_too_great'],
    ['npm', ['1.2.3 1.2.4', '2.0.0 1.0.0'], 'minor', 'change_too_great'],
    ['npm', ['1.2.3 1.2.4', '- 9.0.0', '1.0.0 -'], 'patch', 'ok'],
    ['npm', ['1.2.3 1.2.4', 'odd 1.0.0'], 'minor', 'change_too_great'],
    ['npm', ['1.2.3 1.2.4', 'odd 1.0.0'], 'any', 'ok'],
    ['pypi', ['0.3 0.4'], 'minor', 'change_too_great'],
    ['pypi', ['1.3 1.4.post1'], 'minor', 'ok'],
    ['apt', ['1:1.0-1 2:9.0-1'], 'patch', 'ok'],
  ])('%s, %j, at most %s: %s', (ecosystem, moves, maxChange, expected) => {
    const actions = moves.map((text, i) => move(text, i === 0 ? 'demo' : `dep${i}`));
    const { from_version: from = null, to_version: to = '' } = actions[0] ?? {};
    const given = { members: { ecosystem, actions }, update: { from_version: from, to_version: to } };
    expect(checkOf({ ...(maxChange && { maxChange }) }, given)).toBe(expected);
  });
});

describe('approvals of policies', () => {
  const policy = { policy_id: randomUUID(), sha256: 'a'.repeat(64) };
  test.each<[string, HostPolicy['standingApprovals'], Partial<ApprovalPayload>, PolicyCheck | 'ok']>([
    ['pass where nothing is said', undefined, { policy }, 'ok'],
    ['pass where they may', 'allow', { policy }, 'ok'],
    ['are refused where they may not', 'refuse', { policy }, 'standing_approval'],
    ['are not those of people', 'refuse', {}, 'ok'],
  ])('%s', (_, standingApprovals, members, expected) => {
    expect(checkOf({ ...(standingApprovals && { standingApprovals }) }, { members })).toBe(expected);
  });
});

describe('a second signature', () => {
  const keysOf = (...keys: TestKey[]) => keys.map(({ key }) => loadTrustedKey(key));
  const both = { secondSignature: { keys: keysOf(ops, night), threshold: 2 } };
  const one = { secondSignature: { keys: keysOf(ops, night), threshold: 1 } };
  const by =
    (...keys: TestKey[]) =>
    (envelope: Envelope) =>
      keys.reduce((signed, { key }) => countersign(key, signed), envelope);
  const twice = (envelope: Envelope) => {
    const [server, second] = by(ops)(envelope).signatures;
    return { ...envelope, signatures: [server, second, second].flatMap((each) => each ?? []) };
  };
  const spoilt = (envelope: Envelope) => {
    const [server, second] = by(ops)(envelope).signatures;
    const bad = { keyid: second?.keyid ?? '', sig: server?.sig ?? '' };
    return { ...envelope, signatures: [server, bad].flatMap((each) => each ?? []) };
  };

  test.each<
    [string, Partial<HostPolicy>, ((envelope: Envelope) => Envelope) | undefined, PolicyCheck | 'ok']
  >([
    ['one of two', one, by(ops), 'ok'],
    ['the other one', one, by(night), 'ok'],
    ['both of two', both, by(ops, night), 'ok'],
    ['none', one, undefined, 'second_signature_missing'],
    ['one where two are wanted', both, by(ops), 'second_signature_missing'],
    ['one of two, twice: keys count, not signatures', both, twice, 'second_signature_missing'],
    ['a key that is not listed', one, by(stranger), 'second_signature_missing'],
    ['the signature of the server under the hint of the key', one, spoilt, 'second_signature_missing'],
  ])('%s', (_, policy, sign, expected) => {
    expect(checkOf(policy, { ...(sign && { sign }) })).toBe(expected);
  });

  test('a key of the server is none, also when it was listed before the server had it', () => {
    expect(checkOf(one, { sign: by(ops), serverKeys: [ops] })).toBe('second_signature_missing');
    expect(checkOf(one, { sign: by(ops, night), serverKeys: [ops] })).toBe('ok');
  });
});

test('outside its hours a host says when the next begin', () => {
  const hours = [{ days: ['sun' as const], from: '02:00', to: '04:00' }];
  expect(judge({ hours })).toEqual({
    ok: false,
    check: 'outside_hours',
    detail: expect.stringContaining('2026-11-22T02:00Z'),
  });
  expect(checkOf({ hours }, { nowMs: Date.UTC(2026, 10, 22, 3) })).toBe('ok');
});

test('what does not pass with time is named before the hours', () => {
  const hours = [{ days: ['sun' as const], from: '02:00', to: '04:00' }];
  expect(checkOf({ hours, neverTouch: { apt: ['*'] } })).toBe('never_touch');
});

describe('reboots and restarts of services', () => {
  const hours = [{ days: ['sun' as const], from: '02:00', to: '04:00' }];
  const inHours = Date.UTC(2026, 10, 22, 3);
  test.each<[string, Partial<HostPolicy>, number, PolicyCheck | 'ok', PolicyCheck | 'ok']>([
    ['nothing said', {}, NOW_MS, 'ok', 'ok'],
    ['both allowed', { reboot: 'allow', restartServices: 'allow' }, NOW_MS, 'ok', 'ok'],
    ['no reboot', { reboot: 'never' }, NOW_MS, 'reboot_never', 'ok'],
    ['no restart', { restartServices: 'never' }, NOW_MS, 'ok', 'restart_never'],
    ['outside the hours', { hours }, NOW_MS, 'outside_hours', 'outside_hours'],
    ['in the hours', { hours }, inHours, 'ok', 'ok'],
    ['never, also in the hours', { hours, reboot: 'never' }, inHours, 'reboot_never', 'ok'],
    ['rules of packages', { ecosystems: [], neverTouch: { apt: ['*'] } }, NOW_MS, 'ok', 'ok'],
  ])('%s', (_, policy, nowMs, reboot, restart) => {
    const whole = { neverTouch: {}, ...policy };
    const checks = [judgeRebootByPolicy, judgeRestartByPolicy].map((judge) => {
      const verdict = judge(whole, { nowMs });
      return verdict.ok ? 'ok' : verdict.check;
    });
    expect(checks).toEqual([reboot, restart]);
  });
});
