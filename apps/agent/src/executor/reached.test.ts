import type { PlanAction } from '@tidegate/protocol/plan';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostPaths } from '../ecosystems/host-places.ts';
import { approvalOf } from '../testing/approval-of.ts';
import { install } from '../testing/install.ts';
import type { Installer } from './installer.ts';
import { installedOf, nothingLeft, splitReached, versionsByName } from './reached.ts';

const lib: PlanAction = { action: 'upgrade', name: 'lib', arch: 'all', from_version: '1', to_version: '2' };
const gone: PlanAction = { action: 'remove', name: 'old', arch: 'all', from_version: '1' };
const fresh: PlanAction = { action: 'install', name: 'new', arch: 'all', to_version: '1' };
const again: PlanAction = { action: 'install', name: 'same', arch: 'p', from_version: '1', to_version: '1' };

test.each<[string, PlanAction, [string, string, string][], boolean]>([
  ['the approved version', lib, [['lib', 'all', '2']], true],
  ['the old version', lib, [['lib', 'all', '1']], false],
  ['a newer version than approved', lib, [['lib', 'all', '3']], false],
  ['the approved version of another architecture', lib, [['lib', 'i386', '2']], false],
  [
    'old and new beside each other',
    lib,
    [
      ['lib', 'all', '1'],
      ['lib', 'all', '2'],
    ],
    false,
  ],
  ['nothing', lib, [], false],
  ['a new package', fresh, [['new', 'all', '1']], true],
  ['a new package in another version', fresh, [['new', 'all', '2']], false],
  ['no removed package', gone, [], true],
  ['the removed package', gone, [['old', 'all', '1']], false],
  ['another version of the removed package', gone, [['old', 'all', '2']], false],
  ['the same version, to be installed again', again, [['same', 'p', '1']], true],
])('with %s installed, an action is done or not', (_, action, installed, isDone) => {
  const versions = versionsByName(installed.map(([name, arch, version]) => ({ name, arch, version })));
  expect(splitReached([action], versions)).toEqual(
    isDone ? { reached: [action], rest: [] } : { reached: [], rest: [action] },
  );
});

/** One action of each package: a removal, a new package, an upgrade or a downgrade. */
const packages = Array.from({ length: 8 }, (_, index): PlanAction => {
  const name = `p${index}`;
  const from_version = String(index + 10);
  if (index % 4 === 3) return { action: 'remove', name, arch: 'all', from_version };
  const isDown = index % 4 === 2;
  const to_version = isDown ? '1' : '99';
  const artifact = { filename: name, url: 'https://x.test/', size_bytes: 1, sha256: 'a'.repeat(64) };
  const to = { name, arch: 'all', to_version, artifact };
  if (index % 4 === 1) return { action: 'install', ...to };
  return { action: isDown ? 'downgrade' : 'upgrade', from_version, ...to };
});

type Host = Map<string, string>;

function firstHost(): Host {
  const present = packages.flatMap(({ name, from_version: from }): [string, string][] =>
    from === undefined ? [] : [[name, from]],
  );
  return new Map([...present, ['bystander', '1']]);
}

function apply(host: Host, actions: readonly PlanAction[]): void {
  for (const { name, to_version: to } of actions) {
    if (to === undefined) host.delete(name);
    else host.set(name, to);
  }
}

/** What a package manager does: each request brings everything that it needs and that is not there yet. */
function modelOf(host: Host, needs: readonly (readonly number[])[]): Installer & { runs: number } {
  const model = {
    runs: 0,
    prepare: async (job, work) => {
      const installed = [...host].map(([name, version]) => ({ name, arch: 'all', version }));
      const versions = versionsByName(installed);
      const { reached, rest } = splitReached(job.approval.payload.actions, versions);
      if (rest.length === 0) return nothingLeft(reached, work);
      const wanted = closureOf(rest.map(indexOf), needs);
      const actions = splitReached(wanted, versions).rest.map((action): PlanAction => {
        const from = host.get(action.name);
        return { ...action, ...(from !== undefined && { from_version: from }) };
      });
      const commit = async () => {
        model.runs += 1;
        apply(host, actions);
        return { ok: true as const, installed: installedOf(job.approval.payload.actions), output: '' };
      };
      return { ok: true, value: await work({ actions, reached, commit }) };
    },
  } satisfies Installer & { runs: number };
  return model;
}

function indexOf({ name }: PlanAction): number {
  return Number(name.slice(1));
}

function closureOf(wanted: readonly number[], needs: readonly (readonly number[])[]): PlanAction[] {
  const found = new Set(wanted);
  for (const index of found) for (const need of needs[index] ?? []) found.add(need);
  return packages.filter((_, index) => found.has(index));
}

function jobOf(actions: readonly PlanAction[]) {
  const target = actions.find(({ to_version: to }) => to !== undefined);
  if (target?.to_version === undefined) return null;
  const approved = { name: target.name, toVersion: target.to_version, actions };
  return {
    paths: hostPaths({}),
    stage: '/none',
    approval: approvalOf({ ecosystem: 'apt', ...approved }),
  };
}

const needsOfAll = fc.array(fc.uniqueArray(fc.nat(7), { maxLength: 3 }), { minLength: 8, maxLength: 8 });
const wishes = fc.array(fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 4 }), { maxLength: 6 });

test('any order and overlap of approved sets ends in the same versions, and nothing else changes', async () => {
  await fc.assert(
    fc.asyncProperty(needsOfAll, wishes, async (needs, sets) => {
      const host = firstHost();
      const model = modelOf(host, needs);
      const expected = firstHost();
      for (const set of sets) {
        const actions = closureOf(set, needs);
        const job = jobOf(actions);
        if (job === null) continue;
        apply(expected, actions);
        expect(await install(model, job)).toMatchObject({ ok: true, installed: installedOf(actions) });
        expect(host).toEqual(expected);
      }
      const { runs } = model;
      for (const set of sets) {
        const job = jobOf(closureOf(set, needs));
        if (job !== null) expect(await install(model, job)).toMatchObject({ ok: true });
      }
      expect(model.runs).toBe(runs); // what is done is not done again
    }),
    { numRuns: 150 },
  );
});

test('a package that came to another version than approved is drift, whatever else is done', async () => {
  await fc.assert(
    fc.asyncProperty(needsOfAll, wishes, fc.nat(7), async (needs, sets, strange) => {
      const host = firstHost();
      const model = modelOf(host, needs);
      host.set(`p${strange}`, '55');
      for (const set of sets) {
        const actions = closureOf(set, needs);
        const job = jobOf(actions);
        if (job === null) continue;
        const before = new Map(host);
        const outcome = await install(model, job);
        const isTouched = actions.some((action) => indexOf(action) === strange);
        expect(outcome).toMatchObject(isTouched ? { ok: false, reason: 'plan_drift' } : { ok: true });
        if (isTouched) expect(host).toEqual(before);
        expect(host.get(`p${strange}`)).toBe('55');
        expect(host.get('bystander')).toBe('1');
      }
    }),
    { numRuns: 150 },
  );
});
