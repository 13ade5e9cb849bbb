import { expect, test } from 'vitest';
import { longestTurn } from '../testing/longest-turn.ts';
import { closedAmong, readFacts } from './record-scan.ts';
import { closedByScan } from './scan-rules.ts';

/** Without turns it is 250 ms and more, in parts 10 to 30. */
const HELD_MAX_MS = 100;

const update = {
  ...{ name: 'a', arch: '', current_version: '1.0.0', available_version: '2.0.0', state: 'pending' },
  ...{ offers: 0, rollback_of: null },
};

const rest = {
  ...{ id: '', ecosystem: 'npm', origin: null, security: 0, size_bytes: null, change: null },
  ...{ recommended: 0, taken_back: 0, updated_at: 0 },
};

function factsOf(installed: readonly string[], offered: readonly string[] = []) {
  return readFacts({
    ...{ ecosystem: 'npm', complete: true },
    packages: [installed.map((version) => ({ name: 'a', version }))],
    updates: offered.map((version) => ({ name: 'a', current_version: '1.0.0', available_version: version })),
  });
}

test.each([
  [['1.0.0', '3.0.0', '2.5.0'], [], 'newer_installed: 3.0.0'],
  [['not a version', '2.1.0'], [], 'newer_installed: 2.1.0'],
  [['2.1.0', 'not a version', 'nor this'], [], 'newer_installed: 2.1.0'],
  [['1.0.0'], ['2.2.0', 'odd', '2.1.0'], 'superseded_by: 2.2.0'],
  [['1.0.0'], ['1.9.0', '1.8.0'], 'no_longer_offered'],
])(
  'of many versions the greatest closes an update, in any company: %j, %j',
  async (installed, offered, reason) => {
    expect(closedByScan(update, await factsOf(installed, offered))).toEqual({ kind: 'superseded', reason });
  },
);

test.each([
  [['1.0.0', '2.0.0-rc.1'], []],
  [['not a version'], ['nor this']],
])('versions that are not newer close nothing: %j, %j', async (installed, offered) => {
  expect(closedByScan(update, await factsOf(installed, offered))).toBeNull();
});

test.each([
  ['npm', ['2.0.0', '2.2.0', '3.0.0'], 0, null],
  ['pypi', ['2.0.0', '3.0.0'], 0, null],
  ['apt', ['2.0.0', '3.0.0'], 0, 'superseded_by: 3.0.0'],
  ['npm', ['2.2.0', '3.0.0'], 4, null],
  ['npm', ['2.2.0', '3.0.0'], 3, 'superseded_by: 3.0.0'],
] as const)('%s offers %j, the update is offered as %i: %s', async (ecosystem, offered, offers, reason) => {
  const updates = offered.map((version) => ({
    ...{ name: 'a', current_version: '1.0.0', available_version: version },
    candidates: ['2.0.0', '2.2.0', '3.0.0'],
  }));
  const packages = [{ name: 'a', version: '1.0.0' }];
  const facts = await readFacts({ ecosystem, complete: true, packages: [packages], updates });
  const closure = closedByScan({ ...update, offers }, facts);
  expect(closure).toEqual(reason === null ? null : { kind: 'superseded', reason });
});

test('versions that take long to compare keep nobody waiting while they are read', async () => {
  const version = (n: number) => `2.0.0-${'a.'.repeat(115)}${(n * 7_919) % 20_000}`;
  const many = Array.from({ length: 20_000 }, (_, n) => version(n));
  expect(await longestTurn(async () => void (await factsOf(many, many)))).toBeLessThan(HELD_MAX_MS);
  const facts = await factsOf([version(0)]);
  const rows = many.map((available_version, n) => ({ ...update, ...rest, id: `${n}`, available_version }));
  expect(await longestTurn(async () => void (await closedAmong(rows, facts)))).toBeLessThan(HELD_MAX_MS);
});

test('a smallest fix ends when the registry no longer has its version', async () => {
  const offer = { name: 'a', current_version: '1.0.0', available_version: '3.0.0', candidates: ['3.0.0'] };
  const packages = [{ name: 'a', version: '1.0.0' }];
  const facts = await readFacts({ ecosystem: 'npm', complete: true, packages: [packages], updates: [offer] });
  expect(closedByScan({ ...update, offers: 4 }, facts)).toMatchObject({ kind: 'superseded' });
});

test('the version itself counts as installed beside a newer one', async () => {
  expect(closedByScan(update, await factsOf(['2.0.0', '3.0.0']))).toEqual({ kind: 'installed' });
});

test.each([
  ['2.0.0', 'pending', null],
  ['2.0.0', 'failed', null],
  ['1.0.0', 'pending', { kind: 'installed' }],
  ['1.0.0', 'failed', { kind: 'installed' }],
  ['3.0.0', 'pending', { kind: 'superseded', reason: 'changed_since' }],
  ['3.0.0', 'approved', { kind: 'superseded', reason: 'changed_since' }],
  ['3.0.0', 'installing', null],
])('a rollback from 2.0.0 to 1.0.0, on a host with %s, while %s: %j', async (installed, state, expected) => {
  const versions = { current_version: '2.0.0', available_version: '1.0.0' };
  const rollback = { ...update, ...versions, state, rollback_of: 'token' };
  const offer = { name: 'a', current_version: installed, available_version: '4.0.0' };
  const packages = [{ name: 'a', version: installed }];
  const facts = await readFacts({ ecosystem: 'apt', complete: true, packages: [packages], updates: [offer] });
  expect(closedByScan(rollback, facts)).toEqual(expected);
});
