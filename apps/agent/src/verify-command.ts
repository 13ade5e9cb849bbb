import { createHash } from 'node:crypto';
import { COMMAND_MAX_BYTES, COMMAND_TYPE, CommandPayload, Envelope } from '@tidegate/protocol/documents';
import { strict } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { verifyEnvelope } from '@tidegate/signing/verify';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { CLOCK_SKEW_MS } from './clock.ts';
import type { HighestSeq, TrustedKeySet } from './config-file.ts';
import { activeKeys } from './trusted-keys.ts';

/** The failed check, in the order in which they are made (wire.md). */
export const COMMAND_REFUSALS = [
  'too_large',
  'malformed_envelope',
  'wrong_type',
  'unsigned',
  'bad_signature',
  'malformed_payload',
  'invalid_payload',
  'unknown_critical',
  'wrong_fleet',
  'wrong_agent',
  'wrong_machine',
  'wrong_key',
  'stale_epoch',
  'stale_seq',
  'not_yet_valid',
  'expired',
  'already_seen',
] as const;
export type CommandRefusal = (typeof COMMAND_REFUSALS)[number];

/** What a command is held against; all of it is this host's own knowledge. */
export interface CommandContext {
  trusted: TrustedKeySet;
  agentId: string;
  machineSha256: string;
  highest: HighestSeq;
  /** `trustedNow`: never earlier than the last signed server time. */
  nowMs: number;
  seen: (commandId: string) => boolean;
  strict: boolean;
}

export type CommandOutcome =
  | { ok: true; command: CommandPayload; payloadSha256: string }
  /** `command` is set once signature and schema held, so that a redelivery can be told from an attack. */
  | { ok: false; reason: CommandRefusal; command: CommandPayload | null };

const UnsignedEnvelope = strict({ ...Envelope.properties, signatures: Type.Tuple([]) });

/** Judges the bytes of one command envelope. Nothing in it is believed before its signature was verified. */
export function verifyCommand(bytes: Uint8Array, context: CommandContext): CommandOutcome {
  if (bytes.length > COMMAND_MAX_BYTES) return refused('too_large');
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok) return refused('malformed_envelope');
  const opened = openEnvelope(parsed.value, context);
  if (!opened.ok) return refused(opened.reason);
  const body = parseStrictJson(opened.payload);
  if (!body.ok) return refused('malformed_payload');
  if (!Check(CommandPayload, body.value)) return refused('invalid_payload');
  const command = body.value;
  const reason = judgeContent(command, opened.keyId, context);
  if (reason !== null) return { ok: false, reason, command };
  return { ok: true, command, payloadSha256: createHash('sha256').update(opened.payload).digest('hex') };
}

type Opened =
  | { ok: true; payload: Uint8Array; keyId: string | null }
  | { ok: false; reason: 'malformed_envelope' | 'wrong_type' | 'unsigned' | 'bad_signature' };

function openEnvelope(value: unknown, context: CommandContext): Opened {
  if (Check(UnsignedEnvelope, value)) {
    if (value.payloadType !== COMMAND_TYPE) return { ok: false, reason: 'wrong_type' };
    if (context.strict) return { ok: false, reason: 'unsigned' }; // section 5
    return { ok: true, payload: Buffer.from(value.payload, 'base64'), keyId: null };
  }
  if (!Check(Envelope, value)) return { ok: false, reason: 'malformed_envelope' };
  if (value.payloadType !== COMMAND_TYPE) return { ok: false, reason: 'wrong_type' };
  const verified = verifyEnvelope(value, activeKeys(context.trusted), COMMAND_TYPE);
  if (!verified.ok) return { ok: false, reason: 'bad_signature' };
  return { ok: true, payload: verified.payload, keyId: verified.keyId };
}

function judgeContent(
  command: CommandPayload,
  keyId: string | null,
  context: CommandContext,
): CommandRefusal | null {
  if (command.crit.length > 0) return 'unknown_critical'; // this version knows no critical name
  if (command.fleet_id !== context.trusted.fleet_id) return 'wrong_fleet';
  if (command.agent_id !== context.agentId) return 'wrong_agent';
  if (command.machine_sha256 !== context.machineSha256) return 'wrong_machine';
  if (keyId !== null && !namesKey(command, keyId, context.trusted)) return 'wrong_key';
  if (command.epoch < context.highest.epoch) return 'stale_epoch';
  if (command.epoch === context.highest.epoch && command.seq <= context.highest.seq) return 'stale_seq';
  if (Date.parse(command.not_before) > context.nowMs + CLOCK_SKEW_MS) return 'not_yet_valid';
  if (Date.parse(command.expires_at) <= context.nowMs - CLOCK_SKEW_MS) return 'expired';
  if (context.seen(command.command_id)) return 'already_seen';
  return null;
}

/** The signed body names the key that signed it: the envelope's own `keyid` is only a hint. */
function namesKey(command: CommandPayload, keyId: string, trusted: TrustedKeySet): boolean {
  const key = trusted.keys.find((entry) => entry.key_id === keyId);
  return key !== undefined && command.key_id === keyId && command.key_version === key.version;
}

function refused(reason: CommandRefusal): CommandOutcome {
  return { ok: false, reason, command: null };
}

/** What each refusal means, for the operator who reads the event. */
export const COMMAND_REFUSAL_TEXT: Record<CommandRefusal, string> = {
  too_large: 'the command is larger than 64 KiB',
  malformed_envelope: 'the command is not a signed envelope',
  wrong_type: 'the signed document is not a command',
  unsigned: 'the command bears no signature and this agent is strict',
  bad_signature: 'no key that this host trusts signed the command',
  malformed_payload: 'the signed command is not strict JSON',
  invalid_payload: 'the signed command does not have the form of a command',
  unknown_critical: 'the command needs something that this agent version does not know',
  wrong_fleet: 'the command is for another fleet',
  wrong_agent: 'the command is for another agent',
  wrong_machine: 'the command is for another machine',
  wrong_key: 'the command names another key than the one that signed it',
  stale_epoch: 'the command is from before the server was restored',
  stale_seq: 'the command is older than one that was accepted already',
  not_yet_valid: 'the command is not valid yet',
  expired: 'the command has expired',
  already_seen: 'the command was accepted once already',
};
