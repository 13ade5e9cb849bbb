import { randomUUID } from 'node:crypto';
import type { PlanAction } from '@tidegate/protocol/plan';
import { expect, test } from 'vitest';
import { updateOf } from '../testing/fleet.ts';
import type { InstalledVersion, InstallOutcome } from './installer.ts';
import { updateOutcomes } from './update-outcomes.ts';

const names = ['curl', 'openssl', 'vim'];
const updates = names.map((name) => updateOf(randomUUID(), { name, arch: 'amd64' }));
const actions = names.map(
  (name): PlanAction => ({ action: 'upgrade', name, arch: 'amd64', to_version: '2.0' }),
);
const installed = names.map((name): InstalledVersion => ({ name, version: '2.0', arch: 'amd64' }));
const success: InstallOutcome = { ok: true, installed, output: '' };
const failure = (left: InstalledVersion[]): InstallOutcome => ({
  ...{ ok: false, reason: 'install_failed', detail: 'postinst failed', exitCode: 100, output: '' },
  installed: left,
});

test.each<[string, InstallOutcome, PlanAction[], string[]]>([
  ['all are new', success, [], ['installed', 'installed', 'installed']],
  ['one was there', success, actions.slice(1, 2), ['installed', 'already_installed', 'installed']],
  ['a run that failed at the last', failure(installed.slice(0, 2)), [], ['installed', 'installed', 'failed']],
  ['a run that failed at once', failure([]), [], ['failed', 'failed', 'failed']],
  [
    'a run that failed where one was there',
    failure(installed.slice(0, 1)),
    actions.slice(0, 1),
    ['already_installed', 'failed', 'failed'],
  ],
  [
    'another version or architecture is no success',
    failure([
      { name: 'curl', version: '1.9', arch: 'amd64' },
      { name: 'openssl', version: '2.0', arch: 'i386' },
    ]),
    [],
    ['failed', 'failed', 'failed'],
  ],
])('%s', (_, outcome, reached, expected) => {
  const outcomes = updateOutcomes(updates, { outcome, reached });
  expect(outcomes.map((one) => one.outcome)).toEqual(expected);
  expect(outcomes.map((one) => one.update_id)).toEqual(updates.map((one) => one.update_id));
});
