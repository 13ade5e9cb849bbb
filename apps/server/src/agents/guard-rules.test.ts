import { describe, expect, test } from 'vitest';
import { type CallerFacts, judgeCaller } from './guard-rules.ts';

const facts: CallerFacts = {
  agent: 'active',
  familyActive: true,
  recordedMachineId: 'm1',
  presentedMachineId: 'm1',
  agentId: 'a1',
  pathAgentId: 'a1',
  agentVersion: '1.2.0',
  minAgentVersion: null,
  route: { bind: false, old: false },
};
const checkIn = { bind: true, old: true };
const old = { bind: false, old: true };

describe('the check of a caller (section 5): the first fault counts', () => {
  test.each<[string, Partial<CallerFacts>, string]>([
    ['bound, right machine, own path', {}, 'pass'],
    ['a path without an agent', { pathAgentId: null }, 'pass'],
    ['a revoked agent', { agent: 'revoked' }, 'gone'],
    ['a deleted agent', { agent: 'absent' }, 'gone'],
    ['a revoked family', { familyActive: false }, 'gone'],
    [
      'revoked comes before the machine: no event for it',
      { agent: 'revoked', presentedMachineId: 'm2' },
      'gone',
    ],
    ['another machine', { presentedMachineId: 'm2' }, 'mismatch'],
    ['no header is a mismatch (reading 7)', { presentedMachineId: null }, 'mismatch'],
    ['another machine at check-in too', { presentedMachineId: 'm2', route: checkIn }, 'mismatch'],
    ['a machine id with the same prefix', { presentedMachineId: 'm11' }, 'mismatch'],
    ['another case of the machine id', { presentedMachineId: 'M1' }, 'mismatch'],
    ['the machine comes before the path', { presentedMachineId: 'm2', pathAgentId: 'a2' }, 'mismatch'],
    ['unbound at check-in', { recordedMachineId: null, route: checkIn }, 'pass'],
    ['unbound elsewhere', { recordedMachineId: null }, 'unbound'],
    ['unbound without a header', { recordedMachineId: null, presentedMachineId: null }, 'mismatch'],
    [
      'unbound without a header at check-in',
      { recordedMachineId: null, presentedMachineId: null, route: checkIn },
      'mismatch',
    ],
    ['the path of another agent', { pathAgentId: 'a2' }, 'foreign'],
    ['the path of another agent at check-in', { pathAgentId: 'a2', route: checkIn }, 'foreign'],
    ['an old agent', { minAgentVersion: '1.3.0' }, 'too_old'],
    ['an old agent at its check-in', { minAgentVersion: '1.3.0', route: checkIn }, 'pass'],
    ['an old agent at its own update', { minAgentVersion: '1.3.0', route: old }, 'pass'],
    ['exactly the minimum', { minAgentVersion: '1.2.0' }, 'pass'],
    [
      'above the minimum by number, not by text',
      { minAgentVersion: '1.2.0', agentVersion: '1.10.0' },
      'pass',
    ],
    ['a pre-release of the minimum', { minAgentVersion: '1.2.0', agentVersion: '1.2.0-rc.1' }, 'too_old'],
    ['a version that cannot be ordered', { minAgentVersion: '1.2.0', agentVersion: 'dev' }, 'too_old'],
    ['such a version without a minimum', { agentVersion: 'dev' }, 'pass'],
  ])('%s', (_, given, verdict) => {
    expect(judgeCaller({ ...facts, ...given })).toBe(verdict);
  });
});
