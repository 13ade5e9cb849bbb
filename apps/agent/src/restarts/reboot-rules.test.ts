import { describe, expect, test } from 'vitest';
import type { KernelVerdict } from './kernel-rules.ts';
import { judgeReboot, judgeServices, parseNeedsRestarting, type RebootFacts } from './reboot-rules.ts';

const running = { release: '6.1.0-28-amd64' };
const next = { release: '6.1.0-30-amd64', version: '6.1.124-1', package: 'linux-image-6.1.0-30-amd64' };
const CURRENT: KernelVerdict = { kind: 'current', running, next };
const NEWER: KernelVerdict = { kind: 'newer', running, next };
const PINNED: KernelVerdict = { kind: 'pinned', running, next };
const UNKNOWN: KernelVerdict = { kind: 'unknown', running, reason: 'no package' };
const clean = judgeServices({ stale: [], moreServices: 0, cannot: null });
const unseen = judgeServices({ stale: [], moreServices: 0, cannot: 'no observer' });
const stale = (kind: 'service' | 'core' | 'session' | 'other') => ({
  ...{ name: 'x', kind, processes: 1, files: [{ path: '/usr/lib/x' }], more_files: 0 },
});
const core = judgeServices({ stale: [stale('core')], moreServices: 0, cannot: null });
const flag = (state: RebootFacts['flag']['state'], ...packages: string[]) => ({ flag: { state, packages } });
const manager = (need: RebootFacts['packageManager']['need'], ...packages: string[]) => ({
  packageManager: { need, packages },
});

const FACTS: RebootFacts = {
  container: null,
  kernel: CURRENT,
  flag: { state: 'absent', packages: [] },
  packageManager: { need: 'not_asked', packages: [] },
  services: clean,
  livepatch: 'inactive',
};

describe('whether a reboot is needed', () => {
  test.each<[string, Partial<RebootFacts>, string, string[]]>([
    ['all is known and current', {}, 'not_needed', []],
    ['a newer kernel', { kernel: NEWER }, 'needed', ['newer_kernel']],
    ['a pinned other kernel', { kernel: PINNED }, 'needed', ['pinned_kernel']],
    ['the kernel is unknown', { kernel: UNKNOWN }, 'unknown', []],
    ['the file', flag('set', 'libc6'), 'needed', ['reboot_required_file']],
    ['an empty file alone', flag('empty'), 'not_needed', ['empty_reboot_required_file']],
    [
      'an empty file and an unknown kernel',
      { ...flag('empty'), kernel: UNKNOWN },
      'unknown',
      ['empty_reboot_required_file'],
    ],
    [
      'an empty file and a newer kernel',
      { ...flag('empty'), kernel: NEWER },
      'needed',
      ['newer_kernel', 'empty_reboot_required_file'],
    ],
    ['an unreadable file', flag('unreadable'), 'unknown', []],
    ['dnf says so', manager('needed', 'glibc'), 'needed', ['package_manager']],
    [
      'dnf says no, but the kernel is newer',
      { ...manager('not_needed'), kernel: NEWER },
      'needed',
      ['newer_kernel'],
    ],
    ['dnf says no, and the kernel is unknown', { ...manager('not_needed'), kernel: UNKNOWN }, 'unknown', []],
    ['the message bus runs old code', { services: core }, 'needed', ['core_service']],
    ['nobody looked at the services', { services: unseen }, 'unknown', []],
    ['a newer kernel where nobody looked', { services: unseen, kernel: NEWER }, 'needed', ['newer_kernel']],
    ['a live patch with a newer kernel', { livepatch: 'active', kernel: NEWER }, 'needed', ['newer_kernel']],
    ['a live patch with an unknown kernel', { livepatch: 'active', kernel: UNKNOWN }, 'unknown', []],
    [
      'a container with everything',
      { container: '/.dockerenv', kernel: NEWER, services: core, ...flag('set') },
      'not_needed',
      ['container'],
    ],
  ])('%s', (_, facts, need, evidence) => {
    const reboot = judgeReboot({ ...FACTS, ...facts });
    expect([reboot.need, reboot.evidence]).toEqual([need, evidence]);
    expect(reboot.reason === undefined).toBe(need !== 'unknown');
  });

  test('the packages are named once, and at most fifty', () => {
    const many = Array.from({ length: 60 }, (_, i) => `p${i}`);
    const facts = { ...FACTS, ...flag('set', 'libc6', ...many), ...manager('needed', 'libc6') };
    expect(judgeReboot(facts).packages).toEqual(['libc6', ...many].slice(0, 50));
  });
});

test.each([
  ['nothing stale, all looked at', [], 0, null, 'not_needed'],
  ['nothing stale, not all looked at', [], 0, 'hidden', 'unknown'],
  ['a service', [stale('service')], 0, null, 'needed'],
  ['a service, not all looked at', [stale('service')], 0, 'hidden', 'needed'],
  ['a process without a unit', [stale('other')], 0, null, 'needed'],
  ['the session of a user', [stale('session')], 0, null, 'not_needed'],
  ['the session of a user, not all looked at', [stale('session')], 0, 'hidden', 'unknown'],
  ['more than can be listed', [stale('session')], 3, null, 'needed'],
] as const)('services: %s', (_, seen, moreServices, cannot, need) => {
  expect(judgeServices({ stale: [...seen], moreServices, cannot }).need).toBe(need);
});

const YES =
  'Core libraries or services have been updated since boot-up:\n  * glibc\n  * kernel\n\nReboot is required.\n';
test.each([
  [1, YES, 'needed', ['glibc', 'kernel']],
  [
    0,
    'No core libraries or services have been updated since boot-up.\nReboot should not be necessary.\n',
    'not_needed',
    [],
  ],
  [1, 'No such command: needs-restarting. Please use /usr/bin/dnf --help\n', 'not_asked', []],
  [0, YES, 'not_asked', []],
  [null, '', 'not_asked', []],
] as const)('needs-restarting that ends with %s', (exitCode, stdout, need, packages) => {
  expect(parseNeedsRestarting({ exitCode, stdout })).toEqual({ need, packages });
});
