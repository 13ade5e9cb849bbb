import { LISTS_MAX_AGE_MS } from '@tidegate/protocol/timeliness';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProgramResult } from '../../platform/run-program.ts';
import { openKept } from '../kept-files.ts';
import { addArtifacts, toActions } from './actions.ts';
import { type DnfPackage, parseAnswer, ScanAnswer, TransactionAnswer } from './answers.ts';
import { parseInstalled } from './installed.ts';
import { judgeMetadata } from './metadata-age.ts';
import { evrOf, isSafeArgument, rpmFilename, sourceOf } from './names-rules.ts';
import { describePlan } from './plan.ts';
import { describeScan } from './scan.ts';

const MEANS = { kept: openKept(null), resolvedAt: new Date(0) };
const SHA256 = 'ab'.repeat(32);

function pkg(changes: Partial<DnfPackage> = {}): DnfPackage {
  return {
    ...{ name: 'demo', epoch: '0', version: '1.1', release: '1.el9', arch: 'noarch' },
    ...{ source_rpm: 'demo-src-1.1-1.el9.src.rpm', source_epoch: null },
    ...{ repository: 'baseos', size: 10, checksum: SHA256 },
    ...changes,
  };
}

function coming(changes: Partial<DnfPackage> & { url?: string | null } = {}) {
  const { url = 'http://mirror.invalid/demo.rpm', ...rest } = changes;
  return { ...pkg(rest), url };
}

const going = (changes: Partial<DnfPackage> = {}) =>
  pkg({ repository: null, size: 0, checksum: null, ...changes });

function said(stdout: string): ProgramResult {
  return { ok: true, stdout, stderr: '' };
}

describe('what rpm -qa prints', () => {
  test('is read with the epoch, also where there is none, and without the keys of rpm', () => {
    const output = [
      'libdemo\t0\t1.0\t1.el9\tx86_64\tdemo-src-1.0-1.el9.src.rpm',
      'gpg-pubkey\t0\tf72a819d\t6b01f9d2\t(none)\t(none)',
      'demo\t2\t1.0\t1.el9\tnoarch\tdemo-1.0-1.el9.src.rpm',
      'own\t0\t1\t1\tnoarch\t(none)',
      '',
    ].join('\n');
    const parsed = parseInstalled(output);
    expect(
      parsed.ok &&
        parsed.value.map(({ name, evr, sourceName, sourceVersion }) => [
          name,
          evr,
          sourceName,
          sourceVersion,
        ]),
    ).toEqual([
      ['demo', '2:1.0-1.el9', 'demo', '2:1.0-1.el9'],
      ['libdemo', '0:1.0-1.el9', 'demo-src', '0:1.0-1.el9'],
      ['own', '0:1-1', null, null],
    ]);
  });

  test.each([
    ['a line that is cut off', 'demo\t0\t1.0'],
    ['a name that would be an option', '--root\t0\t1.0\t1\tnoarch\t(none)'],
    ['an epoch that is no number', 'demo\t(none)\t1.0\t1\tnoarch\t(none)'],
    ['a version with a blank', 'demo\t0\t1.0 x\t1\tnoarch\t(none)'],
    ['words of something else', 'warning: the database is odd'],
  ])('is unusable as a whole with %s', (_, line) => {
    const parsed = parseInstalled(`good\t0\t1.0\t1\tnoarch\t(none)\n${line}\n`);
    expect(!parsed.ok && parsed.reason).toContain('cannot be read');
  });

  test('never throws, whatever it is', () => {
    fc.assert(fc.property(fc.string(), (text) => typeof parseInstalled(text).ok === 'boolean'));
  });
});

describe('names and versions', () => {
  test.each([
    ['demo-src-1.0-1.el9.src.rpm', null, '1', { name: 'demo-src', version: '1:1.0-1.el9' }],
    ['httpd-2.4.57-5.el9.src.rpm', '0', '1', { name: 'httpd', version: '0:2.4.57-5.el9' }], // mod_ssl of httpd
    ['vendor-1-1.nosrc.rpm', null, '0', { name: 'vendor', version: '0:1-1' }],
    ['demo.src.rpm', null, '0', null],
    ['demo-1.src.rpm', null, '0', null],
    [null, null, '0', null],
  ])('of the source package %s', (source_rpm, source_epoch, epoch, expected) => {
    expect(sourceOf({ source_rpm, source_epoch, epoch })).toEqual(expected);
  });

  test('the file of a package has no epoch in its name', () => {
    expect(rpmFilename({ name: 'demo', evr: '12:1.0-1.el9', arch: 'noarch' })).toBe(
      'demo-1.0-1.el9.noarch.rpm',
    );
  });

  test.each([
    [{ name: 'demo', evr: '0:1.0-1' }, true],
    [{ name: 'libstdc++', evr: '0:1.0~rc1^git-1.el9_4', arch: 'x86_64' }, true],
    [{ name: '-y', evr: '0:1.0-1' }, false],
    [{ name: 'de*', evr: '0:1.0-1' }, false],
    [{ name: '../demo', evr: '0:1.0-1' }, false],
    [{ name: 'demo', evr: '1.0-1' }, false],
    [{ name: 'demo', evr: '0:1.0' }, false],
    [{ name: 'demo', evr: '0:1.0-1-2' }, false],
    [{ name: 'demo', evr: '0:1.0-1', arch: 'no arch' }, false],
  ])('%j can be spoken: %s', (words, expected) => {
    expect(isSafeArgument(words)).toBe(expected);
  });
});

describe('the answer of dnf', () => {
  test.each([
    ['nothing', ''],
    ['what is no JSON', 'Traceback (most recent call last)'],
    ['two documents', '{"ok":true,"coming":[],"going":[]}{}'],
    ['a key that stands twice', '{"ok":true,"coming":[],"coming":[],"going":[]}'],
    ['a member that is not known', '{"ok":true,"coming":[],"going":[],"more":1}'],
    ['a list that is missing', '{"ok":true,"coming":[]}'],
    ['a name with a path', JSON.stringify({ ok: true, coming: [coming({ name: '../demo' })], going: [] })],
    ['a version with a dash', JSON.stringify({ ok: true, coming: [coming({ version: '1-2' })], going: [] })],
    ['an epoch with a sign', JSON.stringify({ ok: true, coming: [coming({ epoch: '-1' })], going: [] })],
    ['a size below nothing', JSON.stringify({ ok: true, coming: [coming({ size: -1 })], going: [] })],
    [
      'a checksum that is no hex',
      JSON.stringify({ ok: true, coming: [coming({ checksum: 'zz'.repeat(32) })], going: [] }),
    ],
    [
      'a repository with a line of its own',
      JSON.stringify({ ok: true, coming: [coming({ repository: 'a\nb' })], going: [] }),
    ],
    [
      'a scan for a transaction',
      JSON.stringify({ ok: true, faults: [], locked: false, updates: [], origins: [] }),
    ],
  ])('is unusable when it is %s', (_, text) => {
    expect(parseAnswer(said(text), TransactionAnswer).ok).toBe(false);
  });

  test('never throws, whatever it is', () => {
    fc.assert(fc.property(fc.string(), (text) => !parseAnswer(said(text), ScanAnswer).ok));
    fc.assert(fc.property(fc.json(), (text) => !parseAnswer(said(text), ScanAnswer).ok));
  });

  test('that says why not is the reason, in one line', () => {
    const text = JSON.stringify({ ok: false, reason: '\n Problem: x\n  - nothing provides y' });
    expect(parseAnswer(said(text), TransactionAnswer)).toEqual({
      ok: false,
      reason: 'Problem: x; - nothing provides y',
    });
  });

  test('of a program that failed is its last words', () => {
    const run: ProgramResult = {
      ...{ ok: false, reason: 'failed', detail: "ended with 1: No module named 'dnf'", exitCode: 1 },
      ...{ stdout: '{"ok":true,"coming":[],"going":[]}', stderr: '' },
    };
    expect(parseAnswer(run, TransactionAnswer)).toEqual({
      ok: false,
      reason: "ended with 1: No module named 'dnf'",
    });
  });
});

describe('a transaction as actions of a plan', () => {
  test.each([
    ['an upgrade', [coming()], [going({ version: '1.0' })], ['upgrade demo noarch 0:1.0-1.el9 0:1.1-1.el9']],
    ['a downgrade', [coming()], [going({ epoch: '1' })], ['downgrade demo noarch 1:1.1-1.el9 0:1.1-1.el9']],
    ['what is new', [coming()], [], ['install demo noarch  0:1.1-1.el9']],
    ['what goes', [], [going()], ['remove demo noarch 0:1.1-1.el9 ']],
    [
      'a change of architecture as an installation and a removal',
      [coming({ arch: 'x86_64' })],
      [going({ version: '1.0' })],
      ['remove demo noarch 0:1.0-1.el9 ', 'install demo x86_64  0:1.1-1.el9'],
    ],
  ])('%s', (_, comes, goes, expected) => {
    const actions = toActions({ coming: comes, going: goes });
    expect(
      actions.ok &&
        actions.value.map((a) => [a.action, a.name, a.arch, a.from_version, a.to_version].join(' ')),
    ).toEqual(expected);
  });

  test('the same version again is none, nor are two removals of one name', () => {
    expect(toActions({ coming: [coming()], going: [going()] }).ok).toBe(false);
    expect(toActions({ coming: [], going: [going(), going({ version: '1.0' })] }).ok).toBe(false);
  });

  test.each([
    ['MD5', 'ab'.repeat(16)],
    ['SHA-1', 'ab'.repeat(20)],
    ['SHA-512', 'ab'.repeat(64)],
    ['no checksum', null],
  ])('a file with %s alone is not planned', (_, checksum) => {
    const transaction = {
      ok: true as const,
      coming: [coming({ checksum })],
      going: [{ ...going({ version: '1.0' }), listed: [] }],
    };
    const outcome = describePlan(
      transaction,
      { updates: [{ name: 'demo', toVersion: '0:1.1-1.el9' }] },
      MEANS,
    );
    expect(!outcome.ok && outcome.reason).toBe('the metadata of baseos lack the SHA-256 of demo');
  });

  test('a name, a password and a token of a repository are not in the plan', () => {
    const comes = [coming({ url: 'https://user:secret@cdn.invalid/x/demo.rpm?auth=secret#x' })];
    const bare = toActions({ coming: comes, going: [] });
    const complete = bare.ok ? addArtifacts(bare.value, comes) : bare;
    expect(complete.ok && complete.value[0]?.artifact?.url).toBe('https://cdn.invalid/x/demo.rpm');
  });

  test.each([null, 'not an address', 'javascript:alert(1)'])('the address %s makes no plan', (url) => {
    const comes = [coming({ url })];
    const bare = toActions({ coming: comes, going: [] });
    expect(bare.ok && addArtifacts(bare.value, comes).ok).toBe(false);
  });

  test.each([
    ['another package', { name: 'other', toVersion: '0:1.1-1.el9' }],
    ['another version', { name: 'demo', toVersion: '0:1.2-1.el9' }],
    ['another architecture', { name: 'demo', arch: 'x86_64', toVersion: '0:1.1-1.el9' }],
  ])('a transaction that brings %s than asked for is no plan', (_, target) => {
    const transaction = { ok: true as const, coming: [coming({ arch: 'i686' })], going: [] };
    const outcome = describePlan(transaction, { updates: [target] }, MEANS);
    expect(!outcome.ok && outcome.reason).toContain('dnf does not update');
  });
});

describe('a scan', () => {
  const installed = [
    { name: 'demo', arch: 'noarch', evr: '0:1.0-1.el9', sourceName: null, sourceVersion: null },
  ];
  const origins = [{ name: 'demo', evr: '0:1.0-1.el9', arch: 'noarch', repository: 'baseos' }];
  const good = { ok: true as const, faults: [], locked: false, updates: [], origins };

  test('is complete where rpm and dnf agree', () => {
    expect(describeScan(installed, { ok: true, value: good })).toMatchObject({ complete: true, updates: [] });
  });

  test.each([
    ['dnf failed', { ok: false as const, reason: 'broken' }, 'broken'],
    ['rpm is in a transaction', { ok: true as const, value: { ...good, locked: true } }, 'another program'],
    ['dnf warned', { ok: true as const, value: { ...good, faults: ['a warning'] } }, 'a warning'],
    [
      'dnf does not see a package',
      { ok: true as const, value: { ...good, origins: [] } },
      'does not know of demo',
    ],
  ])('is incomplete, with its packages, where %s', (_, offers, reason) => {
    const scan = describeScan(installed, offers);
    expect(scan).toMatchObject({ complete: false, packages: [{ name: 'demo' }] });
    expect(scan.reason).toContain(reason);
  });

  test('of nothing is never complete', () => {
    const scan = describeScan([], { ok: true, value: { ...good, origins: [] } });
    expect(scan).toMatchObject({ complete: false, reason: 'no package is installed, which cannot be' });
  });

  test('lists no update that is not newer', () => {
    const update = { from: going(), to: pkg({ version: '1.0' }), security: false, held: false };
    const scan = describeScan(installed, { ok: true, value: { ...good, updates: [update] } });
    expect([evrOf(update.from), scan.updates]).toEqual(['0:1.1-1.el9', []]);
  });
});

describe('metadata', () => {
  const now = Date.parse('2026-01-03T12:00:00Z');
  const agedMs = (ms: number) => ({ repositories: [{ id: 'baseos', fetched_at: (now - ms) / 1_000 }] });

  test('are old after two days without a look, and the oldest is named', () => {
    const young = { id: 'extras', fetched_at: now / 1_000 - 60 };
    const judged = (ms: number) =>
      judgeMetadata(
        { repositories: [young, ...agedMs(ms).repositories, { ...young, fetched_at: null }] },
        now,
      );
    expect(judged(LISTS_MAX_AGE_MS)).toEqual({ ageMs: LISTS_MAX_AGE_MS, staleness: null });
    expect(judged(LISTS_MAX_AGE_MS + 3_600_000)).toEqual({
      ageMs: LISTS_MAX_AGE_MS + 3_600_000,
      staleness: expect.stringContaining('baseos are 49 hours old'),
    });
  });

  test('that were not kept, or are of the future, have no known age', () => {
    const unknown = { ageMs: null, staleness: null };
    expect(judgeMetadata({ repositories: [{ id: 'baseos', fetched_at: null }] }, now)).toEqual(unknown);
    expect(judgeMetadata(agedMs(-1_000), now)).toEqual(unknown);
  });
});
