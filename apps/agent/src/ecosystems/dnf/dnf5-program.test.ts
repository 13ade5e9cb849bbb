import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { runProgram } from '../../platform/run-program.ts';
import { openKept } from '../kept-files.ts';
import {
  FetchAnswer,
  LookUpAnswer,
  PlansAnswer,
  parseAnswer,
  refusalOf,
  ScanAnswer,
  UndoAnswer,
} from './answers.ts';
import { DNF5_PROGRAM } from './dnf5-program.ts';
import { describePlan } from './plan.ts';
import { describeScan } from './scan.ts';

const python = findTool('python3');
if (python === null)
  console.log('skipped: the program for dnf 5: python3 is not installed (package python3)');

/** Replaces the module of that name; its answers follow libdnf5's documentation, not a real host. */
const RECORDED = fileURLToPath(new URL('../../testing/recorded-dnf5', import.meta.url));
/** Runs the program as on a host, except that the recorded module is found first. */
const START = `import sys; sys.path.insert(0, ${JSON.stringify(RECORDED)})\n`;

const MEANS = { kept: openKept(null), resolvedAt: new Date(0) };
const CONTENT = 'an rpm';
const SHA256 = createHash('sha256').update(CONTENT).digest('hex');
const OLD = { name: 'demo', version: '1.0', epoch: '1', source: 'demo-src', from_repo: 'fedora' };
const OFFER = {
  ...OLD,
  version: '1.1',
  repo: 'updates',
  size: CONTENT.length,
  sha256: SHA256,
  content: CONTENT,
};
const OTHER = { name: 'other', version: '3.0' };
const UPGRADE = [
  ['Upgrade', OFFER],
  ['Replaced', OLD],
];
const TARGET = { name: 'demo', arch: 'noarch', evr: '1:1.1-1' };

async function ask(world: object, request: object) {
  using dir = tmpDir('tidegate-dnf5-');
  const [worldFile, requestFile] = [join(dir.path, 'world.json'), join(dir.path, 'request.json')];
  const [cache, callsFile] = [join(dir.path, 'cache'), join(dir.path, 'calls')];
  mkdirSync(cache);
  writeFileSync(
    worldFile,
    JSON.stringify({
      root: dir.path,
      packages: [OLD, OTHER, OFFER],
      transaction: UPGRADE,
      calls: callsFile,
      ...world,
    }),
  );
  writeFileSync(
    requestFile,
    JSON.stringify({ root: dir.path, cache, database: dir.path, directory: cache, ...request }),
  );
  const run = await runProgram({
    ...{ program: python ?? 'python3', args: ['-I', '-B', '-c', START + DNF5_PROGRAM, requestFile] },
    ...{ timeoutMs: 20_000, maxOutputBytes: 1024 * 1024, env: { RECORDED_WORLD: worldFile } },
  });
  const lines = existsSync(callsFile) ? readFileSync(callsFile, 'utf8').trim().split('\n') : [];
  return { run, fetched: readdirSync(cache), calls: lines.map((line): unknown[] => JSON.parse(line)) };
}

describe.skipIf(python === null)(
  'the program for dnf 5, with answers recorded from the documentation',
  () => {
    async function planOf(world: object, target: object = TARGET) {
      const { run } = await ask(world, { do: 'plan', sets: [[target]] });
      const answer = parseAnswer(run, PlansAnswer);
      if (!answer.ok) return answer;
      const [plan] = answer.value.plans;
      if (plan === undefined) throw new Error('each set has an answer');
      return plan.ok
        ? describePlan(plan, { updates: [{ name: 'demo', toVersion: '1:1.1-1' }] }, MEANS)
        : refusalOf(plan);
    }

    test('scans with epochs, repositories and advisories', async () => {
      const { run } = await ask({ security: ['demo-1:1.1-1.noarch'] }, { do: 'scan' });
      const installed = [
        { name: 'demo', arch: 'noarch', evr: '1:1.0-1', sourceName: 'demo-src', sourceVersion: '1:1.0-1' },
        { name: 'other', arch: 'noarch', evr: '0:3.0-1', sourceName: 'other', sourceVersion: '0:3.0-1' },
      ];
      const scan = describeScan(installed, parseAnswer(run, ScanAnswer));
      expect(scan).toMatchObject({ complete: true, reason: null });
      expect(scan.packages.map(({ name, origin, held }) => [name, origin, held])).toEqual([
        ['demo', 'fedora', false],
        ['other', undefined, false],
      ]);
      expect(scan.updates).toMatchObject([
        { name: 'demo', available_version: '1:1.1-1', origin: 'updates', security: true, size_bytes: 6 },
      ]);
    });

    test('lists what is excluded or locked as held, and says why it is not planned', async () => {
      const packages = [OLD, { ...OFFER, excluded: true }];
      const answer = parseAnswer((await ask({ packages }, { do: 'scan' })).run, ScanAnswer);
      expect(answer.ok && answer.value.updates.map(({ held }) => held)).toEqual([true]);
      const outcome = await planOf({ packages });
      expect(!outcome.ok && outcome.reason).toContain('excluded or locked by the configuration of dnf');
    });

    test('plans with the checksum of the metadata', async () => {
      const outcome = await planOf({});
      expect(outcome.ok && outcome.plan.actions).toEqual([
        {
          ...{
            action: 'upgrade',
            name: 'demo',
            arch: 'noarch',
            from_version: '1:1.0-1',
            to_version: '1:1.1-1',
          },
          ...{ source_name: 'demo-src', source_version: '1:1.1-1', origin: 'updates' },
          artifact: {
            ...{ filename: 'demo-1.1-1.noarch.rpm', url: 'http://mirror.invalid/demo-1.1-1.noarch.rpm' },
            ...{ size_bytes: 6, sha256: SHA256 },
          },
        },
      ]);
    });

    test('the plan includes a removal when there is no alternative', async () => {
      const outcome = await planOf({ transaction: [...UPGRADE, ['Remove', OTHER]] });
      expect(outcome.ok && outcome.plan.actions.map(({ action, name }) => `${action} ${name}`)).toEqual([
        'upgrade demo',
        'remove other',
      ]);
    });

    test.each([
      ['nothing provides it', { problem: 'nothing provides libx' }, TARGET, 'nothing provides libx'],
      ['it is not installed', {}, { ...TARGET, name: 'absent' }, 'absent is not installed'],
      ['nobody offers it', {}, { ...TARGET, evr: '1:9-1' }, 'no enabled repository offers demo 1:9-1'],
      ['it is there already', {}, { ...TARGET, evr: '1:1.0-1' }, 'installed already'],
      ['a repository cannot be read', { load_error: 'fedora: no mirror' }, TARGET, 'fedora: no mirror'],
      ['the metadata have no SHA-256', sha1(), TARGET, 'lack the SHA-256 of demo'],
    ])('makes no plan where %s', async (_, world, target, reason) => {
      const outcome = await planOf(world, target);
      expect(!outcome.ok && outcome.reason).toContain(reason);
    });

    test('fetches what the metadata name as it was approved, and nothing else', async () => {
      const file = { ...TARGET, filename: 'demo-1.1-1.noarch.rpm', size: 6, sha256: SHA256 };
      const good = await ask({}, { do: 'fetch', files: [file] });
      expect([parseAnswer(good.run, FetchAnswer).ok, good.fetched]).toEqual([
        true,
        ['demo-1.1-1.noarch.rpm'],
      ]);
      const other = await ask({}, { do: 'fetch', files: [{ ...file, sha256: 'ab'.repeat(32) }] });
      const refused = parseAnswer(other.run, FetchAnswer);
      expect(!refused.ok && refused.reason).toMatch(/^artifact_mismatch/);
      expect(other.fetched).toEqual([]);
    });

    test('a plan names the one file of a replaced version that the repositories have', async () => {
      const old = { ...OLD, repo: 'fedora', size: 3, sha256: 'cd'.repeat(32) };
      const backOf = async (...packages: object[]) => {
        const outcome = await planOf({ packages: [OLD, OTHER, OFFER, ...packages] });
        return outcome.ok && outcome.plan.actions.map(({ back }) => back);
      };
      expect(await backOf(old)).toEqual([{ size_bytes: 3, sha256: 'cd'.repeat(32) }]);
      expect(await backOf()).toEqual([undefined]);
      expect(await backOf(old, { ...old, sha256: 'ef'.repeat(32) })).toEqual([undefined]);
    });

    const GOING = [{ name: 'demo', arch: 'noarch', evr: '1:1.1-1' }];
    const NEWER = { ...OLD, version: '1.1' };
    const BACK = { ...OLD, repo: 'fedora', size: 3, sha256: 'cd'.repeat(32) };
    const DOWNGRADE = [
      ['Downgrade', BACK],
      ['Replaced', NEWER],
    ];

    test('an undo takes kept files and what one repository has, and names what goes by itself', async () => {
      const packages = [NEWER, OTHER, BACK];
      const other = { name: 'other', arch: 'noarch', evr: '0:3.0-1' };
      const known = { packages, transaction: [...DOWNGRADE, ['Remove', OTHER]] };
      const coming = [{ ...GOING[0], evr: '1:1.0-1' }];
      const request = {
        do: 'undo',
        files: ['/kept/lib.rpm'],
        listed: coming,
        coming,
        going: [...GOING, other],
      };
      const { run, calls } = await ask(known, request);
      expect(parseAnswer(run, UndoAnswer)).toMatchObject({ ok: true });
      expect(calls.slice(2)).toEqual([
        ['undo', 'load'],
        ['undo', 'add', '/kept/lib.rpm'],
        ['undo', 'add package', 'demo-1:1.0-1.noarch'],
        ['undo', 'remove', 'other-3.0-1.noarch'],
        ['undo', 'erasing', false],
      ]);
    });
    test('an undo from kept files alone reads no repository', async () => {
      const coming = [{ ...GOING[0], evr: '1:1.0-1' }];
      const request = { do: 'undo', files: ['/kept/demo.rpm'], listed: [], coming, going: GOING };
      const { calls } = await ask({ packages: [NEWER], transaction: DOWNGRADE }, request);
      expect(calls.slice(1, 3)).toEqual([
        ['undo', 'load', 1],
        ['undo', 'add', '/kept/demo.rpm'],
      ]);
    });

    test('the new one of packages that stand side by side is named', async () => {
      const kernel = { ...NEWER, installonly: true };
      const coming = [{ ...GOING[0], evr: '1:1.0-1' }];
      const request = { do: 'undo', files: ['/kept/demo.rpm'], listed: [], coming, going: GOING };
      const { calls } = await ask({ packages: [kernel], transaction: DOWNGRADE }, request);
      expect(calls).toContainEqual(['undo', 'remove', 'demo-1:1.1-1.noarch']);
    });

    test.each([
      ['no repository has', []],
      ['two repositories have differently', [BACK, { ...BACK, sha256: 'ef'.repeat(32) }]],
    ])('a file that %s is lost', async (_, offered) => {
      const coming = [{ ...GOING[0], evr: '1:1.0-1' }];
      const request = { do: 'undo', files: [], listed: coming, coming, going: GOING };
      const answer = await ask({ packages: [NEWER, ...offered], transaction: DOWNGRADE }, request);
      const lost = [{ name: 'demo', evr: '1:1.0-1' }];
      expect(parseAnswer(answer.run, UndoAnswer)).toMatchObject({ value: { coming: [], going: [], lost } });
    });

    test('an excluded version is looked up, but not taken back', async () => {
      const coming = [{ name: 'demo', arch: 'noarch', evr: '1:1.0-1' }];
      const known = { packages: [NEWER, { ...BACK, excluded: true }], transaction: DOWNGRADE };
      const found = parseAnswer((await ask(known, { do: 'look_up', packages: coming })).run, LookUpAnswer);
      expect(found.ok && found.value.found.map(({ checksum }) => checksum)).toEqual(['cd'.repeat(32)]);
      const request = { do: 'undo', files: [], listed: coming, coming, going: GOING };
      const refused = parseAnswer((await ask(known, request)).run, UndoAnswer);
      expect(!refused.ok && refused.reason).toContain('demo 1:1.0-1 is excluded or locked');
    });

    test('a host without a repository is no complete scan', async () => {
      const answer = parseAnswer((await ask({ repositories: false }, { do: 'scan' })).run, ScanAnswer);
      expect(answer.ok && answer.value.faults).toEqual(['no repository is enabled']);
    });
  },
);

function sha1() {
  const offer = { ...OFFER, sha256: 'ab'.repeat(20) };
  return {
    packages: [OLD, offer],
    transaction: [
      ['Upgrade', offer],
      ['Replaced', OLD],
    ],
  };
}
