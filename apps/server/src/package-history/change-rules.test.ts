import { describe, expect, test } from 'vitest';
import type { RecordedChange } from '../installed/changes-store.ts';
import { changesByReport, netChanges, stateBefore } from './change-rules.ts';

type Line = [
  atMs: number,
  change: RecordedChange['change'],
  package_: string,
  fields?: Partial<RecordedChange>,
];

/** `curl 1` is the version 1 of curl. */
function changesOf(lines: readonly Line[]): RecordedChange[] {
  return lines.map(([changed_at, change, text, fields], i) => ({
    ...{ position: i + 1, changed_at, change, held: 0, ecosystem: 'apt', arch: 'amd64' },
    ...{ name: text.split(' ')[0] ?? '', version: text.split(' ')[1] ?? '' },
    ...{ source_name: null, source_version: null, origin: null, ...fields },
  }));
}

const words = (found: ReturnType<typeof netChanges>) =>
  found.map(({ kind, name, from, to }) => `${kind} ${name} ${from ?? '-'} ${to ?? '-'}`);

describe('what differs before and after some changes', () => {
  test.each<[string, Line[], string[]]>([
    ['nothing', [], []],
    [
      'another version',
      [
        [1, 'removed', 'curl 1'],
        [1, 'added', 'curl 2'],
      ],
      ['changed curl 1 2'],
    ],
    [
      'a version over another',
      [
        [1, 'removed', 'curl 1'],
        [1, 'added', 'curl 2'],
        [2, 'removed', 'curl 2'],
        [2, 'added', 'curl 3'],
      ],
      ['changed curl 1 3'],
    ],
    [
      'there and back',
      [
        [1, 'removed', 'curl 1'],
        [1, 'added', 'curl 2'],
        [2, 'removed', 'curl 2'],
        [2, 'added', 'curl 1'],
      ],
      [],
    ],
    [
      'gone again',
      [
        [1, 'added', 'curl 1'],
        [2, 'removed', 'curl 1'],
      ],
      [],
    ],
    [
      'of another architecture',
      [
        [1, 'removed', 'curl 1'],
        [1, 'added', 'curl 2', { arch: 'arm64' }],
      ],
      ['removed curl 1 -', 'installed curl - 2'],
    ],
    [
      'of another package manager',
      [
        [1, 'removed', 'curl 1'],
        [1, 'added', 'curl 2', { ecosystem: 'npm' }],
      ],
      ['removed curl 1 -', 'installed curl - 2'],
    ],
    // Which of two new kernels took the place of the old one is not known.
    [
      'one version for two',
      [
        [1, 'removed', 'kernel 1'],
        [1, 'added', 'kernel 2'],
        [1, 'added', 'kernel 3'],
      ],
      ['removed kernel 1 -', 'installed kernel - 2', 'installed kernel - 3'],
    ],
    ['held', [[1, 'held', 'curl 1', { held: 1 }]], ['held curl 1 1']],
    ['no longer held', [[1, 'held', 'curl 1']], ['released curl 1 1']],
    [
      'held and back',
      [
        [1, 'held', 'curl 1', { held: 1 }],
        [2, 'held', 'curl 1'],
      ],
      [],
    ],
    [
      'said to be from elsewhere',
      [
        [1, 'removed', 'curl 1', { origin: 'Debian' }],
        [1, 'added', 'curl 1', { origin: 'Elsewhere' }],
      ],
      ['described curl 1 1'],
    ],
  ])('%s', (_, lines, expected) => {
    expect(words(netChanges(changesOf(lines)))).toEqual(expected);
  });

  test('each report has its own, the newest first', () => {
    const changes = changesOf([
      [1, 'removed', 'curl 1'],
      [1, 'added', 'curl 2'],
      [2, 'added', 'vim 1'],
      [2, 'removed', 'curl 2'],
      [3, 'added', 'curl 2'],
    ]);
    const found = changesByReport(changes);
    expect(words(found)).toEqual([
      'installed curl - 2',
      'removed curl 2 -',
      'installed vim - 1',
      'changed curl 1 2',
    ]);
    expect(found.map(({ position }) => position)).toEqual([5, 4, 3, 2]);
    expect(found.map(({ changedAtMs }) => changedAtMs)).toEqual([3, 2, 2, 1]);
  });
});

test('what there was before some changes: the first change of each package says it, also whether it was held', () => {
  const changes = changesOf([
    [1, 'removed', 'curl 1', { origin: 'Debian' }],
    [1, 'added', 'curl 1', { origin: 'Elsewhere' }],
    [1, 'held', 'sed 1', { held: 1 }],
    [2, 'removed', 'vim 1', { held: 1 }],
    [2, 'added', 'new 1'],
    [3, 'removed', 'new 1'],
  ]);
  const found = [...stateBefore(changes).values()].map((one) =>
    one === null ? 'nothing' : [one.name, one.version, one.held, one.origin].join(' '),
  );
  expect(found).toEqual(['curl 1 0 Debian', 'sed 1 0 ', 'vim 1 1 ', 'nothing']);
});
