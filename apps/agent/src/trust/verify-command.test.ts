import { randomUUID } from 'node:crypto';
import { APPROVAL_TYPE, COMMAND_MAX_BYTES, COMMAND_TYPE } from '@tidegate/protocol/documents';
import { signEnvelope } from '@tidegate/signing/sign';
import { describe, expect, test } from 'vitest';
import { CLOCK_SKEW_MS, timestamp, trustedNow } from '../platform/clock.ts';
import { bytesOf, createFleet, createKey, NOW_MS, revoked } from '../testing/fleet.ts';
import {
  COMMAND_REFUSAL_TEXT,
  COMMAND_REFUSALS,
  type CommandContext,
  type CommandRefusal,
  verifyCommand,
} from './verify-command.ts';

const fleet = createFleet();
const stranger = createKey(1);
const second = createKey(2);
const context: CommandContext = {
  trusted: { ...fleet.trusted, keys: [fleet.key.entry, second.entry] },
  agentId: fleet.agentId,
  machineSha256: fleet.machineSha256,
  highest: { epoch: 3, seq: 10 },
  nowMs: NOW_MS,
  seen: () => false,
  strict: true,
};
const good = { epoch: 3, seq: 11 };

function judge(envelope: unknown, changed: Partial<CommandContext> = {}): CommandRefusal | 'ok' {
  const outcome = verifyCommand(bytesOf(envelope), { ...context, ...changed });
  return outcome.ok ? 'ok' : outcome.reason;
}

test('a command that passes every check is returned as signed', () => {
  const id = randomUUID();
  const outcome = verifyCommand(bytesOf(fleet.command({ ...good, command_id: id })), context);
  expect(outcome).toMatchObject({ ok: true, command: { command_id: id, action: 'scan', seq: 11 } });
});

/**
 * One fault per check, from the last check to the first. Each is tried alone, and then together with all the faults
 * of later checks: the first check in the wire's order must win.
 */
const ID = randomUUID();
const CONTENT_FAULTS: [CommandRefusal, object, Partial<CommandContext>][] = [
  ['already_seen', { command_id: ID }, { seen: (id) => id === ID }],
  ['expired', { expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) }, {}],
  ['not_yet_valid', { not_before: timestamp(NOW_MS + CLOCK_SKEW_MS + 1_000) }, {}],
  ['stale_seq', { seq: 10 }, {}],
  ['stale_epoch', { epoch: 2, seq: 999 }, {}],
  ['wrong_key', { key_version: 7 }, {}],
  ['wrong_machine', { machine_sha256: 'a'.repeat(64) }, {}],
  ['wrong_agent', { agent_id: randomUUID() }, {}],
  ['wrong_fleet', { fleet_id: randomUUID() }, {}],
  ['unknown_critical', { crit: ['two_person'] }, {}],
  ['invalid_payload', { extra: 1 }, {}],
];

describe('content checks in the order of the wire', () => {
  test.each(CONTENT_FAULTS)('%s refuses alone', (reason, members, changed) => {
    expect(judge(fleet.command({ ...good, ...members }), changed)).toBe(reason);
  });

  test.each(CONTENT_FAULTS.map(([reason], index) => [reason, index] as const))(
    '%s wins over every later check',
    (reason, index) => {
      const faults = CONTENT_FAULTS.slice(0, index + 1);
      const members = Object.assign({}, ...faults.map(([, fault]) => fault));
      const changed = Object.assign({}, ...faults.map(([, , change]) => change));
      expect(judge(fleet.command({ ...good, ...members }), changed)).toBe(reason);
    },
  );

  test('a bad signature is reported before any fault of the content', () => {
    const members = Object.assign({}, ...CONTENT_FAULTS.map(([, fault]) => fault));
    expect(judge(fleet.command({ ...good, ...members }, stranger))).toBe('bad_signature');
  });
});

describe('envelope checks', () => {
  test('more than 512 KiB is not even parsed', () => {
    const outcome = verifyCommand(new Uint8Array(COMMAND_MAX_BYTES + 1), context);
    expect(outcome).toMatchObject({ ok: false, reason: 'too_large', command: null });
  });

  test.each<[string, unknown]>([
    ['a text', 'x'],
    ['null', null],
    ['an unknown field', { ...fleet.command(good), more: 1 }],
    ['no payload', { payloadType: COMMAND_TYPE, signatures: [{ keyid: '', sig: 'AA==' }] }],
  ])('%s is no envelope', (_, value) => {
    expect(judge(value)).toBe('malformed_envelope');
  });

  test('a duplicate key in the envelope is refused: two parsers would read two commands', () => {
    const text = JSON.stringify(fleet.command(good)).replace('{', `{"payloadType":"${APPROVAL_TYPE}",`);
    expect(verifyCommand(new TextEncoder().encode(text), context)).toMatchObject({
      reason: 'malformed_envelope',
    });
  });

  test('a signed approval is no command (type confusion)', () => {
    expect(judge(fleet.approval().envelope)).toBe('wrong_type');
  });

  test('a signature over another type does not count, though the envelope says "command"', () => {
    const body = Buffer.from(fleet.command(good).payload, 'base64');
    expect(judge({ ...signEnvelope(fleet.key.key, APPROVAL_TYPE, body), payloadType: COMMAND_TYPE })).toBe(
      'bad_signature',
    );
  });

  test('in strict mode an unsigned command is refused, otherwise everything else is still checked (section 5)', () => {
    const unsigned = { ...fleet.command(good), signatures: [] };
    expect(judge(unsigned)).toBe('unsigned');
    expect(judge(unsigned, { strict: false })).toBe('ok');
    const replayed = { ...fleet.command({ epoch: 3, seq: 10 }), signatures: [] };
    expect(judge(replayed, { strict: false })).toBe('stale_seq');
    expect(judge(fleet.command(good, stranger), { strict: false })).toBe('bad_signature');
  });

  test('base64 in a second spelling is refused, with or without a signature', () => {
    const envelope = fleet.command(good);
    const loose = { ...envelope, payload: ` ${envelope.payload}` };
    expect(judge(loose)).toBe('malformed_envelope');
    expect(judge({ ...loose, signatures: [] }, { strict: false })).toBe('malformed_envelope');
  });

  test('every single flipped bit of the payload or signature is noticed', () => {
    const envelope = fleet.command(good);
    const payload = Buffer.from(envelope.payload, 'base64');
    for (let bit = 0; bit < payload.length * 8; bit += 37) {
      const changed = Buffer.from(payload);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(judge({ ...envelope, payload: changed.toString('base64') })).toBe('bad_signature');
    }
    const sig = Buffer.from(envelope.signatures[0]?.sig ?? '', 'base64');
    for (let at = 0; at < sig.length; at += 1) {
      const changed = Buffer.from(sig);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const signatures = [{ keyid: fleet.key.entry.key_id, sig: changed.toString('base64') }];
      expect(judge({ ...envelope, signatures })).toBe('bad_signature');
    }
  });

  test('signed bytes that are not strict JSON are refused', () => {
    const sign = (text: string) => signEnvelope(fleet.key.key, COMMAND_TYPE, new TextEncoder().encode(text));
    expect(judge(sign('{"v":1,"v":1}'))).toBe('malformed_payload');
    expect(judge(sign('not json'))).toBe('malformed_payload');
    expect(judge(sign('{}'))).toBe('invalid_payload');
  });
});

describe('keys', () => {
  test('a revoked key verifies nothing (section 3)', () => {
    const trusted = { ...context.trusted, keys: [revoked(fleet.key.entry), second.entry] };
    expect(judge(fleet.command(good), { trusted })).toBe('bad_signature');
    expect(judge(fleet.command(good, second), { trusted })).toBe('ok');
  });

  test('keys are trusted until their set expires, as a newer one may revoke them (T12)', () => {
    const until = (ms: number) => ({ trusted: { ...context.trusted, expires_at: timestamp(ms) } });
    expect(judge(fleet.command(good), until(NOW_MS - CLOCK_SKEW_MS))).toBe('expired_keys');
    expect(judge(fleet.command(good), until(NOW_MS - CLOCK_SKEW_MS + 1_000))).toBe('ok');
    expect(judge(fleet.command(good, stranger), until(NOW_MS - CLOCK_SKEW_MS))).toBe('bad_signature');
  });

  test('key confusion: the body must name the key that signed it, whatever the keyid hint says', () => {
    const foreign = fleet.command({ ...good, key_id: second.entry.key_id, key_version: 2 });
    expect(judge(foreign)).toBe('wrong_key');
    expect(judge(fleet.command({ ...good, key_id: second.entry.key_id }))).toBe('wrong_key');
    const [signature] = fleet.command(good).signatures;
    const hinted = { ...fleet.command(good, second), signatures: [] };
    expect(judge({ ...hinted, signatures: [{ keyid: second.entry.key_id, sig: signature?.sig }] })).toBe(
      'bad_signature',
    );
  });
});

describe('order and time', () => {
  test.each([
    [{ epoch: 3, seq: 11 }, 'ok'],
    [{ epoch: 4, seq: 1 }, 'ok'], // a restored server counts anew
    [{ epoch: 3, seq: 10 }, 'stale_seq'],
    [{ epoch: 2, seq: 11 }, 'stale_epoch'],
  ])('after epoch 3 seq 10, %o is %s', (order, expected) => {
    expect(judge(fleet.command(order))).toBe(expected);
  });

  test('the window is widened by five minutes on either side', () => {
    const late = fleet.command({ ...good, expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS + 1_000) });
    const early = fleet.command({ ...good, not_before: timestamp(NOW_MS + CLOCK_SKEW_MS) });
    expect([judge(late), judge(early)]).toEqual(['ok', 'ok']);
  });

  test('a clock that was set back does not bring an expired command to life: the signed server time counts', () => {
    const yearsAgoMs = Date.UTC(2020, 0, 1);
    const times = { not_before: timestamp(yearsAgoMs), expires_at: timestamp(NOW_MS) };
    const expired = fleet.command({ ...good, ...times });
    const serverTime = timestamp(NOW_MS + CLOCK_SKEW_MS);
    expect(judge(expired, { nowMs: trustedNow(yearsAgoMs, null) })).toBe('ok');
    expect(judge(expired, { nowMs: trustedNow(yearsAgoMs, serverTime) })).toBe('expired');
    expect(trustedNow(NOW_MS, timestamp(yearsAgoMs))).toBe(NOW_MS);
  });
});

test('every refusal has a sentence for the operator', () => {
  expect(Object.keys(COMMAND_REFUSAL_TEXT).sort()).toEqual([...COMMAND_REFUSALS].sort());
});
