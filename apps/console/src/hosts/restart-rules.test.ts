import type { RestartReport } from '@tidegate/protocol/restarts';
import { expect, test } from 'vitest';
import { actOf, kernelText, rebootReasons } from './restart-rules.ts';

const REBOOT: RestartReport['reboot'] = {
  need: 'needed',
  evidence: ['newer_kernel', 'reboot_required_file'],
  running_kernel: { release: '6.1.0-28-amd64', version: '6.1.119-1' },
  next_kernel: { release: '6.1.0-30-amd64', version: '6.1.124-1', package: 'linux-image-6.1.0-30-amd64' },
  packages: ['libc6', 'linux-base'],
  livepatch: 'active',
};

test('the reasons for a reboot name kernels and packages, and what a live patch does not do', () => {
  expect(rebootReasons(REBOOT)).toEqual([
    'A newer kernel is installed: 6.1.0-30-amd64 (6.1.124-1). Running: 6.1.0-28-amd64 (6.1.119-1).',
    'Packages asked for a reboot (/run/reboot-required): libc6, linux-base.',
    'A live patch is active. It can delay the reboot, not replace it.',
  ]);
});

test('what is not known is said', () => {
  const reboot = { ...REBOOT, need: 'unknown' as const, evidence: [], livepatch: 'inactive' as const };
  expect(rebootReasons({ ...reboot, reason: 'no observer' })).toEqual(['Not known: no observer.']);
});

test.each([
  ['core', /reboot the host/],
  ['service', /restart the service/],
  ['session', /logs out/],
  ['other', /no unit/],
] as const)('a %s', (kind, act) => {
  expect(actOf({ kind })).toMatch(act);
});

test.each([
  [undefined, 'not known'],
  [{ release: '5.14.0-427.el9.x86_64', version: '5.14.0-427.el9' }, '5.14.0-427.el9.x86_64'],
  [{ release: '6.1.0-30-amd64', version: '6.1.124-1' }, '6.1.0-30-amd64 (6.1.124-1)'],
])('the kernel %j is %s', (kernel, text) => {
  expect(kernelText(kernel)).toBe(text);
});
