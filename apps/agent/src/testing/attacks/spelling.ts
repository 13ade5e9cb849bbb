import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { APPROVAL_MAX_BYTES, APPROVAL_TYPE, COMMAND_MAX_BYTES } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { type Attack, payloadText, reEnveloped, resigned, rewrite } from './attack.ts';

const refusedAs = (reason: string) => ({
  agent: `command ${reason}`,
  executor: `command_refused ${reason}`,
});
const approvalRefusedAs = (reason: string) => ({
  agent: `approval ${reason}`,
  executor: `approval_refused ${reason}`,
});

/** One character spelt otherwise, in a text that some decoders read as the same bytes. */
const SPELLINGS: [string, (text: string) => string][] = [
  ['with white space before it', (text) => ` ${text}`],
  ['with a line break in it', (text) => `${text.slice(0, 40)}\n${text.slice(40)}`],
  ['in both alphabets at once', (text) => `-+${text.slice(2)}`],
  ['with padding in the middle', (text) => `${text.slice(0, 40)}=${text.slice(41)}`],
  ['with padding that is too long', (text) => `${text.replace(/=+$/, '')}===`],
  ['with percent signs', (text) => text.replace(/^./, '%65')],
  ['with a character of no alphabet', (text) => `*${text.slice(1)}`],
];

export const ODD_BASE64: Attack[] = [
  ...SPELLINGS.map(
    ([how, change]): Attack => ({
      name: `a payload in base64 ${how}`,
      spoil: reEnveloped('command.json', (envelope) => ({ ...envelope, payload: change(envelope.payload) })),
      ...refusedAs('malformed_envelope'),
    }),
  ),
  {
    name: 'a signature in base64 with loose bits at its end',
    spoil: reEnveloped('command.json', (envelope) => ({
      ...envelope,
      signatures: envelope.signatures.map((each) => ({ ...each, sig: loosened(each.sig) })),
    })),
    ...refusedAs('malformed_envelope'),
  },
  {
    name: 'an empty payload',
    spoil: reEnveloped('command.json', (envelope) => ({ ...envelope, payload: '' })),
    ...refusedAs('malformed_envelope'),
  },
  {
    name: 'an empty signature',
    spoil: reEnveloped('command.json', (envelope) => ({ ...envelope, signatures: [{ keyid: '', sig: '' }] })),
    ...refusedAs('malformed_envelope'),
  },
  {
    name: 'the payload of the approval with white space',
    spoil: reEnveloped('approval.json', (envelope) => ({ ...envelope, payload: `${envelope.payload}\n` })),
    ...approvalRefusedAs('malformed_envelope'),
  },
];

/** 64 bytes end in "x==", where the last four bits of x say nothing. */
function loosened(sig: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const last = digits.indexOf(sig.charAt(85));
  return `${sig.slice(0, 85)}${digits.charAt(last | 1)}==`;
}

const bytes = (text: string, ...after: number[]) => Buffer.concat([Buffer.from(text), Buffer.from(after)]);
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

/** What two parsers read differently. */
const DIALECTS: [string, (text: string) => string | Uint8Array][] = [
  ['a duplicate key', (text) => text.replace('{', '{"v":1,"payloadType":"x",').replace(/^\{/, '{"v":1,')],
  ['a duplicate key that is escaped', (text) => text.replace('{', '{"\\u0076":1,"v":1,')],
  ['__proto__', (text) => text.replace('{', '{"__proto__":{"strict":false},')],
  ['a byte order mark', (text) => `\uFEFF${text}`],
  ['invalid UTF-8', (text) => bytes(text.slice(0, -1), 0x2c, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d)],
  ['half of a surrogate pair', (text) => text.replace('{', '{"x":"\\ud800",')],
  ['U+0000 in a text', (text) => text.replace('{', '{"x":"\\u0000",')],
  ['more nesting than is read', (text) => text.replace('{', `{"x":${nested(40)},`)],
  ['a number that is infinite', (text) => text.replace('{', '{"x":1e400,')],
  ['NaN', (text) => text.replace('{', '{"x":NaN,')],
  ['a comment', (text) => text.replace('{', '{/**/')],
  ['data after its end', (text) => `${text}{}`],
  ['half of itself', (text) => text.slice(0, text.length / 2)],
  ['nothing', () => ''],
];

export const ODD_JSON: Attack[] = [
  ...DIALECTS.map(
    ([what, change]): Attack => ({
      name: `an envelope with ${what}`,
      spoil: (job) => rewrite(job, 'command.json', change),
      ...refusedAs('malformed_envelope'),
    }),
  ),
  ...DIALECTS.map(
    ([what, change]): Attack => ({
      name: `signed bytes with ${what}`,
      parts: ({ fleet }) => ({ envelope: resigned(fleet.key, change) }),
      ...(what === 'nothing' ? refusedAs('malformed_envelope') : refusedAs('malformed_payload')),
    }),
  ),
  {
    name: 'an approval envelope with a duplicate key',
    spoil: (job) => rewrite(job, 'approval.json', (text) => text.replace('{', '{"payload":"e30=",')),
    agent: 'approval malformed_envelope',
    executor: 'approval_refused malformed_envelope',
  },
];

const PAYLOADS: [string, string, (text: string) => string][] = [
  ['an unknown field', 'invalid_payload', (text) => text.replace('{', '{"skip_verify":true,')],
  ['an unknown action', 'invalid_payload', (text) => text.replace('"install_update"', '"run_shell"')],
  ['parameters of another action', 'invalid_payload', (text) => text.replace('"update_ids"', '"ecosystem"')],
  ['something critical that nobody knows', 'unknown_critical', withCrit(['two_person'])],
  ['a long critical name', 'invalid_payload', withCrit(['x'.repeat(65)])],
  ['too many critical names', 'invalid_payload', withCrit(Array(17).fill('x'))],
  ['a seq that loses digits', 'invalid_payload', withSeq('9007199254740993')],
  ['a seq past every number of its kind', 'invalid_payload', withSeq('1e300')],
  ['a seq that is a text', 'invalid_payload', withSeq('"2"')],
  ['a seq that is a fraction', 'invalid_payload', withSeq('2.5')],
  ['a seq below all', 'invalid_payload', withSeq('-1')],
  ['a digest in capitals', 'invalid_payload', (text) => text.replace(/("machine_sha256":")(\w+)/, upper)],
  [
    'a time that there is not',
    'invalid_payload',
    (text) => text.replace(/("expires_at":")\d{4}-\d\d-\d\d/, '$12026-02-31'),
  ],
  [
    'a time in another zone',
    'invalid_payload',
    (text) => text.replace(/("expires_at":"[^"]+)Z"/, '$1+02:00"'),
  ],
  ['another version of the form', 'invalid_payload', (text) => text.replace('"v":1', '"v":2')],
];

function withCrit(names: string[]): (text: string) => string {
  return (text) => text.replace('"crit":[]', `"crit":${JSON.stringify(names)}`);
}

function withSeq(seq: string): (text: string) => string {
  return (text) => text.replace(/"seq":\d+/, `"seq":${seq}`);
}

function upper(_: string, before: string, digest: string): string {
  return before + digest.toUpperCase();
}

/** Signed by a trusted key, and yet not what this version takes. */
export const ODD_CONTENT: Attack[] = [
  ...PAYLOADS.map(
    ([what, reason, change]): Attack => ({
      name: `a command with ${what}`,
      parts: ({ fleet }) => ({ envelope: resigned(fleet.key, change) }),
      ...refusedAs(reason),
    }),
  ),
  {
    name: 'an unknown field in the envelope',
    spoil: reEnveloped('command.json', (envelope) => ({ ...envelope, verified: true })),
    ...refusedAs('malformed_envelope'),
  },
  {
    name: 'an envelope without signatures',
    spoil: reEnveloped('command.json', ({ payload, payloadType }) => ({ payload, payloadType })),
    ...refusedAs('malformed_envelope'),
  },
  {
    name: 'an unknown field in the envelope of the approval',
    spoil: reEnveloped('approval.json', (envelope) => ({ ...envelope, verified: true })),
    ...approvalRefusedAs('malformed_envelope'),
  },
  {
    name: 'an approval that says to skip the check (A4)',
    parts: ({ action }) => ({ approval: { actions: [action], ...{ skip_verify: true } } }),
    ...approvalRefusedAs('malformed'),
  },
];

export const OVERSIZE: Attack[] = [
  {
    name: 'an envelope of one byte more than 64 KiB',
    spoil: (job) => rewrite(job, 'command.json', (text) => text.padEnd(COMMAND_MAX_BYTES + 1)),
    ...refusedAs('too_large'),
  },
  {
    name: 'an approval of one byte more than 4 MiB',
    spoil: (job) => rewrite(job, 'approval.json', (text) => text.padEnd(APPROVAL_MAX_BYTES + 1)),
    agent: 'ok', // its client reads no more than 4 MiB of an answer
    executor: 'approval_refused too_large',
  },
  {
    name: 'a command that grows to the end of the disk',
    spoil: (job) => truncateSync(join(job, 'command.json'), 1024 ** 4),
    ...refusedAs('too_large'),
  },
  {
    name: 'ten thousand actions',
    parts: ({ action }) => ({ approval: { actions: [action, ...many(10_000)] } }),
    ...approvalRefusedAs('malformed'),
  },
  {
    name: 'a package name of 215 characters',
    parts: ({ action }) => ({ approval: { actions: [action, { action: 'remove', name: 'x'.repeat(215) }] } }),
    ...approvalRefusedAs('malformed'),
  },
  {
    name: 'a hint of 129 characters',
    spoil: reEnveloped('command.json', (envelope) => ({
      ...envelope,
      signatures: envelope.signatures.map((each) => ({ ...each, keyid: 'x'.repeat(129) })),
    })),
    ...refusedAs('malformed_envelope'),
  },
  {
    name: 'an approval whose signed text is one byte past the limit of every document',
    spoil: (job, { fleet }) =>
      reEnveloped('approval.json', (envelope) => {
        const payload = Buffer.from(payloadText(envelope).padEnd(4 * 1024 * 1024 + 1)).toString('base64');
        return { ...fleet.approval().envelope, payloadType: APPROVAL_TYPE, payload };
      })(job),
    agent: 'approval malformed_envelope',
    executor: 'approval_refused too_large',
  },
];

function many(count: number): PlanAction[] {
  return Array.from({ length: count }, (_, at) => ({ action: 'remove', name: `package-${at}` }));
}
