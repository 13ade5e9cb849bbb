import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAffected } from './versions.ts';

// Third-party records lie beside the repository and are not part of it.
const folder = path.join(import.meta.dirname, '../../../../shared/data/osv');
const isAbsent = !existsSync(folder);
if (isAbsent) console.warn('skipped: the real OSV records are not in ../shared/data/osv');

type OsvRecord = {
  id: string;
  withdrawn?: string;
  affected: {
    package: { ecosystem: string; name: string };
    versions?: string[];
    ranges?: { type: string; events: { introduced?: string; fixed?: string; last_affected?: string }[] }[];
  }[];
};

function readRecord(file: string): OsvRecord {
  return JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
}

describe.skipIf(isAbsent)('real OSV records (../shared/data/osv)', () => {
  const files = isAbsent ? [] : readdirSync(folder).filter((file) => file.endsWith('.json'));
  const records = files.map(readRecord);
  const live = records.filter((record) => record.withdrawn === undefined);

  test('all 68 are read, two of them withdrawn, which affect nothing any more', () => {
    expect(records.length).toBe(68);
    const withdrawn = records.filter((record) => record.withdrawn !== undefined);
    expect(withdrawn.map((record) => record.id).toSorted()).toEqual(['PYSEC-2021-125', 'PYSEC-2022-43059']);
    for (const record of withdrawn) {
      for (const { package: named, versions = [] } of record.affected) {
        for (const version of versions) expect(isAffected(record, { ...named, version })).toBe('unaffected');
      }
    }
  });

  test('each listed version, each introduction and each last affected version is affected', () => {
    const wrong: string[] = [];
    let asked = 0;
    for (const record of live) {
      for (const { package: named, versions = [], ranges = [] } of record.affected) {
        const events = ranges.filter(({ type }) => type !== 'GIT').flatMap((range) => range.events);
        const hit = events.flatMap(({ introduced, last_affected }) => [introduced, last_affected]);
        for (const version of [...versions, ...hit]) {
          if (version === undefined || version === '0') continue;
          asked += 1;
          const verdict = isAffected(record, { ...named, version });
          if (verdict !== 'affected') wrong.push(`${record.id} ${named.name} ${version}: ${verdict}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(1000);
  });

  test('no version that ends a range is affected, nor is it undecidable', () => {
    const wrong: string[] = [];
    let asked = 0;
    for (const record of live) {
      for (const { package: named, ranges = [] } of record.affected) {
        const events = ranges.filter(({ type }) => type !== 'GIT').flatMap((range) => range.events);
        for (const { fixed: version } of events) {
          if (version === undefined) continue;
          asked += 1;
          const verdict = isAffected(record, { ...named, version });
          if (verdict !== 'unaffected') wrong.push(`${record.id} ${named.name} ${version}: ${verdict}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(100);
  });

  test.each([
    ['DEBIAN-CVE-2024-58382', 'Debian:12', 'php-league-commonmark', '2.7.0-1', 'affected'], // unfixed in 12
    ['DEBIAN-CVE-2024-58382', 'Debian:13', 'php-league-commonmark', '2.6.0-1', 'unaffected'],
    ['DEBIAN-CVE-2024-58382', 'Debian:14', 'php-league-commonmark', '2.3.9-1', 'unaffected'],
    ['UBUNTU-CVE-2025-29769', 'Ubuntu:22.04:LTS', 'vips', '8.12.1-1build1', 'affected'],
    ['UBUNTU-CVE-2025-29769', 'Ubuntu:Pro:22.04:LTS', 'vips', '8.12.1-1ubuntu0.1~esm1', 'unaffected'],
    ['UBUNTU-CVE-2025-29769', 'Ubuntu:22.04', 'vips', '8.12.1-1', 'undecidable'],
    ['RLSA-2026:66203', 'Rocky Linux:9', 'python3.12-lxml', '4.9.3-2.el9_8', 'affected'],
    ['RLSA-2026:66203', 'Rocky Linux:9', 'python3.12-lxml', '0:4.9.3-2.el9_8.1', 'unaffected'],
    ['DSA-3029-1', 'Debian:7', 'nginx', '1.2.1-2.2+wheezy2', 'affected'],
    ['DSA-3029-1', 'Debian:7', 'nginx', '1.2.1-2.2+wheezy3', 'unaffected'],
    ['MAL-2025-6974', 'npm', '0-snap-score318', '0.0.1', 'affected'],
    ['MAL-2025-6974', 'npm', '0-snap-score318', '1.2', 'undecidable'],
  ])('%s on %s: %s %s is %s', (id, ecosystem, name, version, verdict) => {
    const record = records.find((each) => each.id === id);
    expect(record?.id).toBe(id);
    expect(isAffected(record, { ecosystem, name, version })).toBe(verdict);
  });
});
