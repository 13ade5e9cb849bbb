import { CheckInRequest } from '@tidegate/protocol/agent-api';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { isIdle } from './idle-rules.ts';

const stored = {
  bound: true,
  agentVersion: '1.0.0',
  bootId: '8d1fa7f2-9d0e-4f8e-b1f5-8bb2cf3d4b6a',
  keySetVersion: 3,
  pollingIntervalSeconds: null,
  hasOpenCommands: false,
  digests: '{}',
};
const facts = {
  agent_version: '1.0.0',
  boot_id: stored.bootId,
  uptime_seconds: 86_400,
  load: [0.1, 0.25, 3],
  received: [],
  key_set_version: 3,
  inventory_digest: { apt: 'a'.repeat(64) },
};

test.each([
  ['with only stored facts', {}, true],
  ['with a new load and uptime', { load: [], uptime_seconds: 1 }, true],
  // The answer requests the report; nothing is written.
  ['with a new inventory', { inventory_digest: {} }, true],
  ['with a newer agent', { agent_version: '1.0.1' }, false],
  ['after a reboot', { boot_id: 'other' }, false],
  ['with a new key set', { key_set_version: 4 }, false],
  ['with a command received', { received: [stored.bootId] }, false],
])('a check-in %s: idle is %s', (_title, change, idle) => {
  expect(isIdle(stored, Value.Parse(CheckInRequest, { ...facts, ...change }))).toBe(idle);
});

test.each([
  ['that is not bound', { bound: false }],
  ['with a waiting command', { hasOpenCommands: true }],
  ['that has never checked in', { bootId: null }],
])('an agent %s is not idle', (_title, change) => {
  expect(isIdle({ ...stored, ...change }, Value.Parse(CheckInRequest, facts))).toBe(false);
});
