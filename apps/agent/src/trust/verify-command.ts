import { createHash } from 'node:crypto';
import { COMMAND_MAX_BYTES, COMMAND_TYPE, CommandPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Check } from 'typebox/value';
import type { HighestSeq, TrustedKeySet } from '../identity/config-file.ts';
import { CLOCK_SKEW_MS, hasPassed } from '../platform/clock.ts';
import { type EnvelopeFault, openEnvelope, payloadOfUnsigned } from './open-envelope.ts';

/** The failed check, in the order in which they are made (docs/protocol/verification.md). */
export const COMMAND_REFUSALS = [
  'too_large',
  'malformed_envelope',
  'wrong_type',
  'unsigned',
  'bad_signature',
  'expired_keys',
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

/** The facts a command is checked against, all known by this host itself. */
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
  /** `command` is set once signature and schema are valid, to distinguish a redelivery from an attack. */
  | { ok: false; reason: CommandRefusal; command: CommandPayload | null };

/** Verifies the bytes of a command envelope. Nothing in it is used before its signature is verified. */
export function verifyCommand(bytes: Uint8Array, context: CommandContext): CommandOutcome {
  if (bytes.length > COMMAND_MAX_BYTES) return refused('too_large');
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok) return refused('malformed_envelope');
  const opened = open(parsed.value, context);
  if (!opened.ok) return refused(opened.reason);
  const body = parseStrictJson(opened.payload);
  if (!body.ok) return refused('malformed_payload');
  if (!Check(CommandPayload, body.value)) return refused('invalid_payload');
  const command = body.value;
  const reason = judgeContent(command, opened.keyId, context);
  if (reason !== null) return { ok: false, reason, command };
  return { ok: true, command, payloadSha256: createHash('sha256').update(opened.payload).digest('hex') };
}

type OpenedCommand =
  | { ok: true; payload: Uint8Array; keyId: string | null }
  | { ok: false; reason: EnvelopeFault };

function open(value: unknown, context: CommandContext): OpenedCommand {
  const opened = openEnvelope(value, { ...context, payloadType: COMMAND_TYPE });
  if (opened.ok || opened.reason !== 'unsigned' || context.strict) return opened; // section 5
  const payload = payloadOfUnsigned(value);
  return payload === null ? { ok: false, reason: 'malformed_envelope' } : { ok: true, payload, keyId: null };
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
  if (hasPassed(command.expires_at, context.nowMs)) return 'expired';
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

/** The meaning of each refusal, for operators. */
export const COMMAND_REFUSAL_TEXT: Record<CommandRefusal, string> = {
  too_large: 'the command is larger than 64 KiB',
  malformed_envelope: 'the command is not a signed envelope',
  wrong_type: 'the signed document is not a command',
  unsigned: 'the command is not signed, and this agent is strict',
  bad_signature: 'no key that this host trusts signed the command',
  expired_keys: 'the key set of this host has expired',
  malformed_payload: 'the signed command is not strict JSON',
  invalid_payload: 'the signed command does not match its schema',
  unknown_critical: 'the command needs a feature that this agent version does not know',
  wrong_fleet: 'the command is for another fleet',
  wrong_agent: 'the command is for another agent',
  wrong_machine: 'the command is for another machine',
  wrong_key: 'the command was not signed by the key that it names',
  stale_epoch: 'the command was signed before the server was restored',
  stale_seq: 'the command is older than one already accepted',
  not_yet_valid: 'the command is not valid yet',
  expired: 'the command has expired',
  already_seen: 'the command was already accepted',
};
