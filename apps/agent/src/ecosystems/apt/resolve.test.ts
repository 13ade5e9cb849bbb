import { aptHostMissing } from '@tidegate/testkit/apt-host';
import { createAptIndexHost, type IndexedPackage } from '@tidegate/testkit/apt-index-host';
import { tmpDir } from '@tidegate/testkit/tmp';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { hostPaths } from '../host-places.ts';
import { toActions } from './actions.ts';
import { aptDriver } from './apt.ts';
import { parseTransaction } from './parse-transaction.ts';
import { planUpdates } from './plan.ts';
import { type Planner, withPlanner } from './planner.ts';
import { installPin } from './session.ts';

const missing = aptHostMissing();
const FOREIGN = 'i386';
/** Generated archives; `npm run test:long` makes more. */
const ARCHIVES = process.env.TIDEGATE_LONG === '1' ? 60 : 4;
const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** One relation of a generated package to another. */
const relation = fc.record({
  field: fc.constantFrom('Depends', 'Pre-Depends', 'Recommends', 'Conflicts', 'Breaks'),
  to: fc.constantFrom(...NAMES, 'virtual', 'extra'),
  bound: fc.constantFrom('', ' (>= 2)', ' (= 2)', ' (<< 2)', ' (= 1)'),
  or: fc.option(fc.constantFrom(...NAMES, 'virtual'), { freq: 3 }),
});

const version = fc.record({
  relations: fc.array(relation, { maxLength: 3 }),
  provides: fc.boolean(),
});

const pkg = fc.record({
  kind: fc.constantFrom('all', 'all', 'native', 'both'),
  old: version,
  new: version,
  isOffered: fc.boolean(),
  isSecurity: fc.boolean(),
  sibling: fc.constantFrom('one', 'two', 'three'),
});

const world = fc.record({
  packages: fc.tuple(...NAMES.map(() => pkg)),
  extra: version,
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;
type Version = World['extra'];

function fieldsOf({ relations, provides }: Version, name: string, kind: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const { field, to, bound, or } of relations) {
    if (to === name) continue;
    const isExclusive = field === 'Conflicts' || field === 'Breaks';
    const text = `${to}${bound}${or !== null && !isExclusive && or !== name ? ` | ${or}` : ''}`;
    fields[field] = fields[field] === undefined ? text : `${fields[field]}, ${text}`;
  }
  return {
    ...fields,
    ...(provides && { Provides: 'virtual' }),
    ...(kind === 'both' && { 'Multi-Arch': 'same' }),
    ...(kind === 'all' && { 'Multi-Arch': 'foreign' }),
  };
}

/** The host as generated: the archive also holds the old versions, and a package that is not installed. */
function hostOf({ packages, extra }: World, native: string) {
  const installed: IndexedPackage[] = [];
  const offered: IndexedPackage[] = [
    { name: 'extra', version: '2', fields: fieldsOf(extra, 'extra', 'all') },
  ];
  for (const [index, { kind, sibling, ...one }] of packages.entries()) {
    const name = NAMES[index] ?? '';
    const archs = kind === 'all' ? ['all'] : kind === 'native' ? [native] : [native, FOREIGN];
    for (const arch of archs) {
      const archive = one.isSecurity ? ('security' as const) : ('main' as const);
      // What is installed is sound: only relations that old versions meet are kept.
      const kept = one.old.relations.filter(({ field, bound }) => {
        return !['Conflicts', 'Breaks'].includes(field) && ['', ' (= 1)', ' (<< 2)'].includes(bound);
      });
      const relations = kept.filter(({ to }) => to !== 'extra' && to !== 'virtual');
      const old = fieldsOf({ ...one.old, relations }, name, kind);
      installed.push({ name, version: '1', arch, fields: { ...old, Source: sibling } });
      const fields = { ...fieldsOf(one.new, name, kind), Source: sibling };
      if (one.isOffered) offered.push({ name, version: '2', arch, archive, fields });
    }
  }
  return { installed, offered, foreign: [FOREIGN] };
}

/** What `apt-get -s install` does, as the actions of a plan without their artifacts. */
async function simulate({ session, state }: Planner, targets: readonly PlanTarget[]): Promise<unknown> {
  const pins = targets.map(({ name, arch, toVersion }) => installPin({ name, arch, version: toVersion }));
  const request = ['-s', '-y', '--allow-downgrades', 'install', '--only-upgrade', ...pins];
  const answer = await session.run('apt-get', request);
  const transaction = answer.ok ? parseTransaction(answer.stdout) : null;
  if (!transaction?.ok) return null;
  const { changes } = transaction.value;
  const reached = targets.every((target) =>
    changes.some(({ name, to }) => name === target.name && to === target.toVersion),
  );
  const actions = toActions(transaction.value, state().installed, state().places);
  return actions.ok && reached ? actions.value : null;
}

function actionsOf(outcome: PlanOutcome): unknown {
  if (!outcome.ok) return null;
  return outcome.plan.actions.map(({ artifact, source_name, source_version, ...action }) => action);
}

describe.skipIf(missing !== null)('plans of apt', () => {
  test('every plan, of one update and of several, is what apt-get -s resolves', {
    timeout: 600_000,
  }, async () => {
    let compared = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(world, async (generated) => {
        const dir = tmpDir('tidegate-apt-resolve-');
        try {
          const host = await createAptIndexHost(
            dir.path,
            hostOf(generated, process.arch === 'x64' ? 'amd64' : 'arm64'),
          );
          const paths = hostPaths({ apt_config: host.aptConf });
          const { updates } = await aptDriver.scan(paths);
          const targets = updates.map(({ name, arch, available_version: toVersion }) => ({
            ...{ name, toVersion },
            ...(arch === undefined ? {} : { arch }),
          }));
          const sets = [...targets.map((target) => [target]), targets, targets.slice(0, 2)];
          await withPlanner(paths, targets, async (planner) => {
            if (!planner.ok) throw new Error(planner.reason);
            for (const set of sets.filter(({ length }) => length > 0)) {
              const planned = await planUpdates(planner.value, { updates: set }, new Date(0));
              const expected = await simulate(planner.value, set);
              expect(actionsOf(planned)).toEqual(expected);
              compared += 1;
              if (expected === null) refused += 1;
            }
          });
        } finally {
          dir.remove();
        }
      }),
      { numRuns: ARCHIVES, endOnFailure: true },
    );
    expect(compared - refused).toBeGreaterThan(0);
  });
});
