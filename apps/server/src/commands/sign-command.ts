import { COMMAND_TYPE, CommandPayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { COMMAND_LIFETIME_MS } from './queue-command.ts';
import type { OpenedCommand } from './store.ts';

export type SignedCommand =
  | { ok: true; signed: { key_id: string; epoch: number; envelope: string } }
  /** `queueCommand` did not write the row: nothing that an agent would refuse is ever signed. */
  | { ok: false };

const payloads = Compile(CommandPayload);

/** Signs a command for its agent and machine, with the active key. The caller has judged it. */
export function signCommand(
  keyRing: Pick<KeyRing, 'fleetId' | 'epoch' | 'signer'>,
  args: { command: OpenedCommand; seq: number; machineSha256: string; nowMs: number; notAfterMs: number },
): SignedCommand {
  const { command } = args;
  const { keyId, keyVersion, sign } = keyRing.signer();
  const epoch = keyRing.epoch();
  const params = parseStrictJson(command.params);
  // A longer lifetime than any command gets would outlast the revocation of its author.
  if (!params.ok || command.expires_at - command.not_before > COMMAND_LIFETIME_MS) return { ok: false };
  const payload: unknown = {
    v: 1,
    fleet_id: keyRing.fleetId,
    epoch,
    seq: args.seq,
    command_id: command.id,
    agent_id: command.agent_id,
    machine_sha256: args.machineSha256,
    issued_at: rfc3339Seconds(args.nowMs),
    not_before: rfc3339Seconds(command.not_before),
    // Enforced by the host before it begins, also if it hears of nothing any more.
    expires_at: rfc3339Seconds(Math.min(command.expires_at, args.notAfterMs)),
    key_id: keyId,
    key_version: keyVersion,
    action: command.action,
    params: params.value,
    ...(command.approval_id === null
      ? {}
      : { approval: { token_id: command.approval_id, sha256: command.approval_sha256 } }),
    crit: [],
  };
  if (!payloads.Check(payload)) return { ok: false };
  const envelope = sign(COMMAND_TYPE, Buffer.from(JSON.stringify(payload)));
  return { ok: true, signed: { key_id: keyId, epoch, envelope: JSON.stringify(envelope) } };
}
