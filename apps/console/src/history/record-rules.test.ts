import type { ApprovalRecord, BulkAct, OverrideRecord } from '@tidegate/protocol/approval-record-api';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import { isolated } from '@tidegate/protocol/isolated';
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
  installing_at: null,
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
const APPROVAL: ApprovalRecord = {
  ...{ token_id: 't', sha256: 'a'.repeat(64), approved_by: 'eve', approved_at: 'approved', signed: 'good' },
  ...{
    key_id: 'k',
    event_id: null,
    second_signatures: [],
    via: 'approve',
    bulk: null,
    updates: 1,
    override: null,
    policy: null,
  },
  ...{ age_exceptions: { total: 0, items: [] }, origins: [] },
};
const OVERRIDE: OverrideRecord = {
  ...{ by: 'eve', reason: 'needed tonight', reason_is_signed: true, event_id: 'e' },
  blocked_by: 'vulnerability',
};
const WHOLE: RecordFacts = {
  ...{ update: UPDATE, approval: APPROVAL, decisions: [DECISION], commands: [COMMAND], changes: [CHANGE] },
};

const lines = (facts: RecordFacts) => recordOf(facts).map(({ label, at, text }) => `${label} ${at}: ${text}`);
const notesOf = (label: string, approval: Partial<ApprovalRecord>, decision = DECISION) =>
  recordOf({ ...WHOLE, approval: { ...APPROVAL, ...approval }, decisions: [decision] })
    .find((step) => step.label === label)
    ?.notes.map(({ tone, text, quote }) =>
      [tone === 'bad' ? 'BAD' : '', text, quote ?? ''].filter((part) => part !== '').join(' | '),
    );

test('a record has each step with its time, and says who approved it', () => {
  expect(lines(WHOLE)).toEqual([
    'Found found: The host reported 2 as available in place of 1.',
    'Judged judged: The checks allowed it when ada asked.',
    'Approved approved: eve approved it.',
    'Signed and sent sent: The server signed command 7 and gave it to the host.',
    'Received received: The host said that it has the command.',
    'Downloaded null: The host did not say when the download was over.',
    'Installed installed: The host reported success.',
    'Seen in the inventory seen: The host has 2; it had 1 before.',
  ]);
});

test('a record says how long the download and the installation took where that was long', () => {
  const at = (minute: string) => `2026-11-01T10:${minute}:00Z`;
  const said = (command: Partial<CommandItem>) =>
    lines({
      ...{ update: UPDATE, approval: null, decisions: [], changes: [] },
      commands: [{ ...COMMAND, started_at: at('00'), ...command }],
    }).slice(5, 7);
  expect(said({ installing_at: at('12'), finished_at: at('15') })).toEqual([
    `Downloaded ${at('12')}: The host had all files after 12 min and began to install them.`,
    `Installed ${at('15')}: The host reported success after 3 min.`,
  ]);
  expect(said({ installing_at: at('00'), finished_at: at('00') })).toEqual([
    `Downloaded ${at('00')}: The host had all files and began to install them.`,
    `Installed ${at('00')}: The host reported success.`,
  ]);
});

test('a host that began at once did not say before that it has the command', () => {
  const begun = { ...COMMAND, received_at: null, started_at: 'started' };
  expect(lines({ ...WHOLE, commands: [begun] })[4]).toBe(
    'Received null: The host began at once, and did not say so before.',
  );
});

test.each([
  ['approve', null, 'eve approved it.'],
  ['bulk', null, 'eve approved it in a bulk approval.'],
  [
    'sweep',
    null,
    'eve approved it before its plan was known. The server signed once the plan was there and had passed the checks.',
  ],
  ['policy', { id: 'p', name: 'Nightly' }, 'The policy Nightly approved it in the name of eve.'],
  ['policy', { id: 'p', name: null }, 'A policy approved it in the name of eve.'],
  [null, null, 'eve approved it. How is not known: the record of the decision is missing or was changed.'],
] as const)('approved by %s, %j', (via, policy, text) => {
  const [, , approved] = recordOf({ ...WHOLE, approval: { ...APPROVAL, via, policy } });
  expect(approved?.text).toBe(text);
  expect(approved?.notes.some(({ link }) => link?.to === '/policies/$id')).toBe(policy !== null);
});

test.each(['approve', 'sweep', 'policy', 'bulk'] as const)('approved by %s, it leads to its event', (via) => {
  const approvedWith = (event_id: string | null) =>
    recordOf({ ...WHOLE, approval: { ...APPROVAL, via, event_id } }).find(({ label }) => label === 'Approved')
      ?.notes[0];
  expect(approvedWith('e-1')).toEqual({ text: '', link: { to: '/events/$id', id: 'e-1' } });
  expect(approvedWith(null)?.link).toBeUndefined();
});

test.each([
  ['good', 'The server signed the approval, SHA-256:'],
  ['bad', 'BAD | No key of this server signed the approval as it is stored: it was changed since.'],
  ['unknown', 'BAD | The key that signed the approval is not on record, so its signature cannot be checked.'],
] as const)('an approval whose signature is %s says so', (signed, text) => {
  expect(notesOf('Approved', { signed })).toEqual([text]);
});

test('what was approved together names its one act, and whether the log says the same', () => {
  const bulk: BulkAct = {
    ...{ id: 'act', event_id: 'act', updates: 40, is_logged: true },
    ...{ asked_by: 'eve', asked_at: '2026-11-29T10:00:00.123Z', filter: null },
  };
  const all = (other: Partial<BulkAct>) => notesOf('Approved', { via: 'bulk', bulk: { ...bulk, ...other } });
  const told = (other: Partial<BulkAct>) => all(other)?.[0];
  const at = 'which eve asked for at 2026-11-29 10:00:00 UTC';
  expect(told({})).toBe(`Part of one bulk approval of 40 updates, ${at}.`);
  expect(told({ updates: 1 })).toBe(`Part of one bulk approval of 1 update, ${at}.`);
  expect(all({ filter: 'group:web open:true' })?.slice(0, 2)).toEqual([
    `Part of one bulk approval of 40 updates, ${at}.`,
    'The filter that chose the updates: | group:web open:true',
  ]);
  expect(told({ filter: '' })).toBe(`Part of one bulk approval of 40 updates, ${at}, without a filter.`);
  expect(told({ is_logged: null })).toBe(
    `Part of one bulk approval of 40 updates, ${at}; the log cannot confirm it.`,
  );
  const unnamed = notesOf('Approved', {
    event_id: 'e-1',
    bulk: { ...bulk, updates: 1_234, is_logged: null },
  });
  expect(unnamed?.[1]).toBe(
    `Part of one bulk approval of 1,234 updates, ${at}; its event names only the first of them, so the log cannot confirm that this was one.`,
  );
  const gone = { event_id: null, updates: null, asked_by: null, asked_at: null, is_logged: null };
  expect(told(gone)).toBe('Part of one bulk approval; the log cannot confirm it.');
  expect(told({ is_logged: false })).toBe(
    'BAD | The log does not say that it was approved in this bulk approval: one of them was changed since.',
  );
  const [, , approved] = recordOf({ ...WHOLE, approval: { ...APPROVAL, bulk } });
  expect(approved?.notes[0]?.link).toEqual({ to: '/events/$id', id: 'act', of: 'bulk approval' });
});

test.each([
  ['1', '1', 'The host has 2; it had 1 before.'],
  ['', null, 'The host has 2; it had none before.'],
  ['1', null, 'The host has 2. Its reports do not say that 1 is gone.'],
])('an update of %j whose report has %j before', (current_version, from_version, text) => {
  const update = { ...UPDATE, current_version };
  const steps = recordOf({ ...WHOLE, update, changes: [{ ...CHANGE, from_version }] });
  expect(steps.at(-1)?.text).toBe(text);
});

test.each([
  [2, 'In one transaction with another update of the host.'],
  [3, 'In one transaction with 2 other updates of the host.'],
])('a transaction of %i updates says how many others there were', (updates, text) => {
  expect(notesOf('Approved', { updates })?.[0]).toBe(text);
});

test('a hostile name of a key turns nothing around it', () => {
  const signature = { keyid: '\u202evault', given_by: '\u05d0da', given_at: 'later', event_id: 'e' };
  const second_signatures = [{ ...signature, on_approval: true, is_given: true }];
  const step = recordOf({ ...WHOLE, approval: { ...APPROVAL, second_signatures } })[3];
  expect(step?.text).toBe(
    `${isolated(signature.given_by)} added a signature by the key ${isolated(signature.keyid)}.`,
  );
  expect(step?.text).toContain('\u2069.');
});

test('an override has its reason, and whether that is the one that was signed', () => {
  const first = 'A package has a known vulnerability. eve let it pass, with this reason: | needed tonight';
  const told = (override: Partial<OverrideRecord>) =>
    notesOf('Approved', { override: { ...OVERRIDE, ...override } })?.slice(1);
  expect(told({})).toEqual([first, 'The signed approval has the hash of this reason.']);
  expect(told({ reason_is_signed: false })).toEqual([
    first,
    'BAD | This is not the reason that was signed: it was changed since.',
  ]);
  expect(told({ reason_is_signed: null })).toEqual([
    first,
    'BAD | Whether this is the reason that was signed cannot be told.',
  ]);
  expect(told({ reason: null, reason_is_signed: null, blocked_by: null })).toEqual([
    'BAD | The checks had stopped it, and eve let it pass. The reason is not on record.',
  ]);
});

test('second signatures are steps of their own, and the server does not vouch for them', () => {
  const signature = { keyid: 'ops', given_by: 'grace', given_at: 'later', event_id: 'e' };
  const checked = { ...signature, on_approval: true, is_given: true };
  const unknown = { ...checked, given_by: null, given_at: null, event_id: null, is_given: null };
  const changed = { ...checked, is_given: false };
  const lost = { ...checked, on_approval: false, is_given: null };
  const steps = recordOf({
    ...WHOLE,
    approval: { ...APPROVAL, second_signatures: [checked, unknown, changed, lost] },
  }).filter(({ label }) => label === 'Second signature');
  expect(steps.map(({ at, text, notes }) => [at, text, ...notes.map((note) => note.text)])).toEqual([
    [
      'later',
      'grace added a signature by the key ops.',
      'The log has the hash of this signature. Only the host can check it: the server does not know the key.',
    ],
    [
      null,
      'The approval has a signature by the key ops. Who added it is not on record.',
      'The log has no hash of this signature. Only the host can check it: the server does not know the key.',
    ],
    [
      'later',
      'grace added a signature by the key ops.',
      'This is not the signature that was given: it was changed since.',
    ],
    [
      'later',
      'grace added a signature by the key ops.',
      'The approval as it is stored does not have it any more.',
    ],
  ]);
});

test('what let it pass is named: statements, exceptions, registered origins', () => {
  const decision: DecisionItem = {
    ...DECISION,
    statements: [{ id: 's', status: 'not_affected', vulnerability: 'CVE-1', package: 'curl' }],
  };
  const exception = { package: 'left', version: '2', created_by: 'ada', reason: 'fixes a hole' };
  const approval = {
    age_exceptions: { total: 3, items: [exception, { ...exception, created_by: null, reason: null }] },
    origins: [{ id: 'o', origin: 'Docker', reason: 'ours' }],
  };
  expect(notesOf('Judged', approval, decision)).toEqual([
    'A statement about CVE-1 in curl counted: not affected.',
    'left 2 passed the minimum age by an exception of ada, with this reason: | fixes a hole',
    'left 2 passed the minimum age by an exception. Its reason is not on record any more, or is for operators of the whole fleet.',
    '1 more passed the minimum age by exceptions.',
    'What comes from Docker passed unchecked: the origin is registered, with this reason: | ours',
    'Record of the decision, SHA-256:',
  ]);
});

test('what was overridden was not allowed by the checks', () => {
  const decision = { ...DECISION, token_id: 't' };
  const judged = (override: OverrideRecord | null) =>
    recordOf({ ...WHOLE, decisions: [decision], approval: { ...APPROVAL, override } })[1]?.text;
  expect(judged(null)).toBe('The checks allowed it when ada asked.');
  expect(judged(OVERRIDE)).toBe('The checks stopped it when ada asked, and were overridden.');
});

test('of several decisions the one counts that made the approval', () => {
  const other = { ...DECISION, id: 'other', decided_at: 'other' };
  const own = { ...DECISION, token_id: 't' };
  expect(recordOf({ ...WHOLE, decisions: [other, own] })[1]?.at).toBe('judged');
});

test('what did not happen has no time; a failed command is no installation', () => {
  const nothing = { update: UPDATE, approval: null, decisions: [], commands: [], changes: [] };
  expect(recordOf(nothing).map(({ at }) => at)).toEqual(['found', null, null, null, null, null, null, null]);
  for (const [status, reason, told] of [
    ['failed', 'no space', 'The command failed: no space.'],
    ['failed', 'fetch_failed: no mirror', 'The command failed: fetch failed: no mirror.'],
    ['expired', 'expired', 'The command expired before the host took it.'],
    ['running', null, 'The host carries out the command.'],
    ['cancelled', 'approval_gone', 'The command was cancelled: its approval no longer holds.'],
  ] as const) {
    const commands = [{ ...COMMAND, status, reason }];
    expect(lines({ ...nothing, commands })[6]).toBe(`Installed null: ${told}`);
  }
});

test('a change by another command, or to another version, is not this one', () => {
  const facts = { ...WHOLE, decisions: [] };
  const others: PackageChange[] = [
    { ...CHANGE, command: null },
    { ...CHANGE, command: { ...BY, id: 'other' } },
    { ...CHANGE, to_version: '3' },
  ];
  for (const other of others) {
    expect(recordOf({ ...facts, changes: [other] }).at(-1)?.at).toBeNull();
  }
});
