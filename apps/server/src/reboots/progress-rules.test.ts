import { expect, test } from 'vitest';
import {
  ATTEMPTS_MAX,
  type Attempt,
  OFFER_MAX_MS,
  type Progress,
  progressOf,
  RESTART_MAX_MS,
  RETRY_MAX_MS,
  RETRY_MIN_MS,
} from './progress-rules.ts';

const NOW_MS = Date.parse('2026-11-21T09:00:00Z');
const ATTEMPT: Attempt = {
  ...{
    nowMs: NOW_MS,
    couldReport: true,
    kind: 'reboot',
    isCancelled: false,
    attempts: 1,
    offeredAtMs: NOW_MS - 1,
  },
  ...{ command: { status: 'pending', reason: null, retryAtMs: null }, slot: null },
};
const says = (status: Attempt['command']['status'], reason: string | null = null) => ({
  command: { status, reason, retryAtMs: null },
});
const slot = (state: 'held' | 'proving' | 'failed', detail: string | null = null) => ({
  slot: { state, outcome: null, detail },
});
const ended = (outcome: 'well' | 'not_rebooted' | 'released') => ({
  slot: { state: 'ended' as const, outcome, detail: 'it did not come back' },
});
const services = { kind: 'restart_services' as const };

test.each<[string, Partial<Attempt>, Partial<Progress>]>([
  ['an offer', {}, { kind: 'wait' }],
  ['an offer that nobody fetches', { offeredAtMs: NOW_MS - OFFER_MAX_MS }, { kind: 'withdraw' }],
  ['a slot', { ...says('sent'), ...slot('held') }, { kind: 'running' }],
  ['a success without proof', { ...says('success'), ...slot('held') }, { kind: 'running' }],
  [
    'a success whose slot came to nothing',
    { ...says('success'), ...ended('not_rebooted') },
    { kind: 'again' },
  ],
  ['a success without a slot', says('success'), { kind: 'again' }],
  ['a host that is back', { ...says('success'), ...slot('proving') }, { kind: 'running' }],
  ['a proof', { ...says('success'), ...ended('well') }, { kind: 'end', state: 'rebooted' }],
  [
    'a host that did not come back',
    { ...says('running'), ...slot('failed', 'it did not come back') },
    { kind: 'end', state: 'failed', detail: 'it did not come back' },
  ],
  [
    'one whose slot a person released',
    { ...says('running'), ...ended('released') },
    { kind: 'end', state: 'failed' },
  ],
  ['a refusal', { ...says('refused', 'reboot_blocked: ada'), ...ended('not_rebooted') }, { kind: 'again' }],
  ['one that was interrupted', { ...says('interrupted'), ...ended('not_rebooted') }, { kind: 'again' }],
  ['one that expired', says('expired'), { kind: 'again', detail: 'expired' }],
  [
    'a refusal for good by the host',
    { ...says('refused', 'host_policy (reboot_never): by root'), ...ended('not_rebooted') },
    { kind: 'end', state: 'failed' },
  ],
  [
    'a container',
    { ...says('refused', 'unsupported_host: x'), ...ended('not_rebooted') },
    { kind: 'end', state: 'failed' },
  ],
  ['hours of the host', { ...says('refused', 'host_policy (outside_hours): x') }, { kind: 'again' }],
  ['a reason that only begins like one', says('refused', 'unsupported_hosts'), { kind: 'again' }],
  ['the last attempt', { ...says('refused', 'x'), attempts: ATTEMPTS_MAX }, { kind: 'end', state: 'failed' }],
  ['a cancellation', { ...says('cancelled', 'x'), isCancelled: true }, { kind: 'end', state: 'cancelled' }],
  [
    'one that the host called off',
    { ...says('refused', 'x'), isCancelled: true },
    { kind: 'end', state: 'cancelled' },
  ],
  [
    'a cancellation that came too late',
    { ...says('success'), ...ended('well'), isCancelled: true },
    { kind: 'end', state: 'rebooted' },
  ],
  ['services', { ...services, ...says('success') }, { kind: 'end', state: 'done' }],
  [
    'services, one failed',
    { ...services, ...says('failed', 'x') },
    { kind: 'end', state: 'failed', detail: 'x' },
  ],
  ['services, interrupted', { ...services, ...says('interrupted') }, { kind: 'end', state: 'failed' }],
  ['services, under way', { ...services, ...says('running') }, { kind: 'running' }],
  [
    'services, without an answer',
    { ...services, ...says('running'), offeredAtMs: NOW_MS - RESTART_MAX_MS },
    { kind: 'end', state: 'failed' },
  ],
  [
    'services, without an answer after a pause of the server',
    { ...services, ...says('running'), offeredAtMs: NOW_MS - RESTART_MAX_MS, couldReport: false },
    { kind: 'running' },
  ],
])('%s', (_, change, expected) => {
  expect(progressOf({ ...ATTEMPT, ...change })).toMatchObject(expected);
});

test.each<[string, number | null, number]>([
  ['says nothing', null, NOW_MS + RETRY_MIN_MS],
  ['says a time in the past', NOW_MS - 1, NOW_MS + RETRY_MIN_MS],
  ['says a later time', NOW_MS + 3_600_000, NOW_MS + 3_600_000],
  ['has hours once a week', NOW_MS + 7 * 86_400_000, NOW_MS + 7 * 86_400_000],
  ['says a time in years', NOW_MS + 5 * 365 * 86_400_000, NOW_MS + RETRY_MAX_MS],
])('where the host %s, the next attempt is not before that, and not at once', (_, retryAtMs, notBeforeMs) => {
  const command = { status: 'refused' as const, reason: 'x', retryAtMs };
  expect(progressOf({ ...ATTEMPT, command })).toMatchObject({ kind: 'again', notBeforeMs });
});
