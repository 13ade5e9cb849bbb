import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareVersions } from './versions.ts';

// Third-party pairs lie beside the repository and are not part of it.
const folder = path.join(import.meta.dirname, '../../../../shared/data/versions');
const isAbsent = !existsSync(folder);
if (isAbsent)
  console.warn('skipped: the ordered pairs of dpkg, rpm and packaging are not in ../shared/data/versions');

const signs = new Map([
  ['<', -1],
  ['=', 0],
  ['>', 1],
]);

describe.skipIf(isAbsent)('the tools’ own answers (../shared/data/versions)', () => {
  test.each([
    ['apt', 'dpkg-oracle.sample.txt', 0],
    ['apt', 'debian-versions-generated.sample.txt', 0],
    ['dnf', 'rpm-oracle.sample.txt', 0],
    ['dnf', 'rpm-evr-oracle.sample.txt', 0],
    ['pypi', 'pep440-oracle.sample.txt', 0],
    ['pypi', 'pypi-versions-generated.sample.txt', 2], // pairs with a version from before PEP 440
  ])('%s orders all 300 pairs of %s, %i of them undecidable', (ecosystem, file, undecidable) => {
    const lines = readFileSync(path.join(folder, file), 'utf8').trim().split('\n');
    const wrong: string[] = [];
    const undecided: string[] = [];
    for (const line of lines) {
      const [a = '', sign = '', b = ''] = line.split(' ');
      const expected = signs.get(sign);
      const forward = compareVersions(ecosystem, a, b);
      const backward = compareVersions(ecosystem, b, a);
      if (forward === 'undecidable' || backward === 'undecidable') undecided.push(line);
      else if (forward !== expected || backward + forward !== 0)
        wrong.push(`${line}: ${forward}, ${backward}`);
    }
    expect(wrong).toEqual([]);
    expect(undecided.length, undecided.join('\n')).toBe(undecidable);
    expect(lines.length).toBe(300);
  });
});
