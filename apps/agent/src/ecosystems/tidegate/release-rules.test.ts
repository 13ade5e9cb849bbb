import { describe, expect, test } from 'vitest';
import {
  archiveName,
  isAgentVersion,
  mayTry,
  newestOffer,
  retryAt,
  targetOf,
  withFailure,
} from './release-rules.ts';

const NOW_MS = Date.parse('2026-11-28T12:00:00Z');
const HOUR_MS = 3_600_000;
const host = { target: 'linux-x64', installed: '0.2.0', failures: [], nowMs: NOW_MS };
const filesOf = (...names: string[]) => new Map(names.map((name) => [name, 'a'.repeat(64)]));

describe('what a release offers a host', () => {
  test.each([
    ['the newest of several', ['0.3.0', '0.10.0', '0.9.0'], '0.10.0'],
    ['nothing where it has the installed version', ['0.2.0'], null],
    ['nothing older', ['0.1.9'], null],
    ['no pre-release of the installed version', ['0.2.0-rc.1'], null],
    ['a pre-release of a newer one', ['0.3.0-rc.1'], '0.3.0-rc.1'],
  ])('%s', (_, versions, offered) => {
    const files = filesOf(...versions.map((version) => archiveName(version, 'linux-x64')));
    expect(newestOffer(files, host)?.version ?? null).toBe(offered);
  });

  test('only archives of its own processor, and no other files', () => {
    const files = filesOf(
      ...['tidegate-agent_0.9.0_linux-arm64.tar.gz', 'tidegate-agent_0.9.0_linux-x64.deb'],
      ...['tidegate_0.9.0_linux-x64.tar.gz', 'apt/tidegate-agent_0.9.0_linux-x64.tar.gz'],
      'tidegate-agent_1_linux-x64.tar.gz',
    );
    expect(newestOffer(files, host)).toBeNull();
  });

  test('no version that has just failed, and the next best instead', () => {
    const files = filesOf(archiveName('0.4.0', 'linux-x64'), archiveName('0.3.0', 'linux-x64'));
    const failures = withFailure([], { version: '0.4.0', atMs: NOW_MS, max: 10 });
    expect(newestOffer(files, { ...host, failures })?.version).toBe('0.3.0');
    expect(newestOffer(files, { ...host, failures, nowMs: NOW_MS + HOUR_MS })?.version).toBe('0.4.0');
  });
});

describe('a version that failed', () => {
  test('is tried again after an hour, after a day, and then never', () => {
    const once = withFailure([], { version: '0.4.0', atMs: NOW_MS, max: 10 });
    expect(mayTry(once, '0.4.0', NOW_MS + HOUR_MS - 1)).toBe(false);
    expect(mayTry(once, '0.4.0', NOW_MS + HOUR_MS)).toBe(true);
    expect(mayTry(once, '0.5.0', NOW_MS)).toBe(true);
    const twice = withFailure(once, { version: '0.4.0', atMs: NOW_MS, max: 10 });
    expect(retryAt(twice, '0.4.0')).toBe(NOW_MS + 24 * HOUR_MS);
    const thrice = withFailure(twice, { version: '0.4.0', atMs: NOW_MS, max: 10 });
    expect(retryAt(thrice, '0.4.0')).toBe('never');
    expect(mayTry(thrice, '0.4.0', NOW_MS + 10_000 * HOUR_MS)).toBe(false);
  });

  test('is forgotten first when too many have failed', () => {
    const one = withFailure([], { version: '0.4.0', atMs: NOW_MS, max: 1 });
    expect(
      withFailure(one, { version: '0.5.0', atMs: NOW_MS, max: 1 }).map(({ version }) => version),
    ).toEqual(['0.5.0']);
  });
});

test.each([
  '',
  '1',
  '1.2',
  '1.2.3.4',
  '../1.2.3',
  '1.2.3/..',
  '1.2.3+build',
  ' 1.2.3',
  '1.2.3-',
  '1.2.3-a/b',
])('%j names no version: versions become folders', (text) => expect(isAgentVersion(text)).toBe(false));

test.each([
  ['linux', 'x64', 'linux-x64'],
  ['linux', 'arm64', 'linux-arm64'],
  ['linux', 'riscv64', null],
  ['darwin', 'arm64', null],
])('%s %s is the release %s', (platform, arch, target) => {
  expect(targetOf({ platform, arch })).toBe(target);
});
