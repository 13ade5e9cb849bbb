import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import { expect, test } from 'vitest';
import { type RecordFacts, recordOf } from './record-rules.ts';

const UPDATE: RecordFacts['update'] = {
  ...{ name: 'curl', current_version: '1', available_version: '2', discovered_at: 'found' },
  ...{ state: 'installed', history: [] },
};
const COMMAND: CommandItem = {
  ...{ id: 'c', agent_id: '', hostname: '', action: 'install_update', params: {}, update_ids: [] },
  packages: { total: 0, first: [] },
  ...{ status: 'success', seq: 7, created_by: 'ada', created_at: 'asked', not_before: '', expires_at: '' },
  ...{ sent_at: 'sent', received_at: 'received', started_at: null, finished_at: 'installed', reason: null },
  ...{ exit_code: null, output_tail: null, way_back: null, restarts: null, probes: null, hooks: null },
};
const DECISION: DecisionItem = {
  ...{ id: 'd', decided_at: 'judged', outcome: 'minted', actor: 'ada', token_id: null, unchecked: null },
  ...{ statements: [], sha256: 'f'.repeat(64), repeats: 0, repeated_at: null },
};
const BY = { id: 'c', update_id: 'u', approved_by: 'eve', policy_id: 'p' };
const CHANGE: PackageChange = {
  ...{ position: 1, ecosystem: 'apt', name: 'curl', arch: null, kind: 'changed', from_version: '1' },
  ...{ to_version: '2', reported_at: 'seen', cause: 'tidegate' },
  command: BY,
};
const approved = { at: 'approved', from_state: 'pending', to_state: 'approved', reason: null, actor: 'ada' };

const lines = (facts: RecordFacts) => recordOf(facts).map(({ label, at, text }) => `${label} ${at}: ${text}`);

test('a record has each step with its time, and says who approved it in whose name', () => {
  const update = { ...UPDATE, history: [approved] };
  expect(lines({ update, decisions: [DECISION], commands: [COMMAND], changes: [CHANGE] })).toEqual([
    'Found found: The host reported 2 as available in place of 1.',
    'Judged judged: The checks allowed it, asked by ada.',
    'Approved approved: eve approved it through a policy.',
    'Signed and sent sent: The server signed command 7 and gave it to the host.',
    'Received received: The host said that it has the command.',
    'Installed installed: The host reported success.',
    'Seen in the inventory seen: The host has 2; it had 1 before.',
  ]);
});

test('what did not happen has no time; a failed command is no installation', () => {
  const nothing = { update: UPDATE, decisions: [], commands: [], changes: [] };
  expect(recordOf(nothing).map(({ at }) => at)).toEqual(['found', null, null, null, null, null, null]);
  const commands = [{ ...COMMAND, status: 'failed' as const, reason: 'no space' }];
  expect(lines({ ...nothing, commands })[5]).toBe('Installed null: The command is failed: no space.');
});

test('a change by another command, or to another version, is not this one', () => {
  const facts = { update: UPDATE, decisions: [], commands: [COMMAND] };
  const others: PackageChange[] = [
    { ...CHANGE, command: null },
    { ...CHANGE, command: { ...BY, id: 'other' } },
    { ...CHANGE, to_version: '3' },
  ];
  for (const other of others) {
    expect(recordOf({ ...facts, changes: [other] }).at(-1)?.at).toBeNull();
  }
});
