import { createHash } from 'node:crypto';
import { COMMAND_TYPE, CommandPayload } from '@tidegate/protocol/documents';
import type { CommandAction } from '@tidegate/protocol/states';
import { Compile } from 'typebox/compile';
import { lockAgent, setNextSeq } from '../agents/store.ts';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { expireCommands } from './expire-commands.ts';
import { type CommandRow, compareAndSwapStatus, deliverable, markReceived, stillApproved } from './store.ts';

/** Commands that one check-in hands out. */
export const DELIVERED_MAX = 50;

export interface Delivery {
  agentId: string;
  machineId: string;
  /** Ids of commands that the agent has stored safely. */
  received: readonly string[];
  /** Where the agent is too old for the rest, the one action that it is given. */
  only?: CommandAction | null;
}

/**
 * Takes the receipts of an agent and returns what it is to be given, as JSON texts of envelopes in rising order of
 * `seq`. Sequence number, key and machine digest are given at first delivery; a redelivery has the same bytes unless
 * the key was revoked, the machine rebound or the epoch changed: then it is signed anew with a new `seq`.
 */
export async function deliverCommands(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  keyRing: Pick<KeyRing, 'fleetId' | 'epoch' | 'isActive' | 'signer'>,
  { agentId, machineId, received, only = null }: Delivery,
): Promise<string[]> {
  const lock = await lockAgent(tx, agentId);
  if (!lock) return [];
  const nowMs = platform.now();
  await markReceived(tx, { agentId, ids: received, nowMs });
  await expireCommands(tx, platform, { agentId });
  const open = await deliverable(tx, { agentId, nowMs, limit: DELIVERED_MAX });
  const wanted = only === null ? open : open.filter((command) => command.action === only);
  const commands = await withdrawUnapproved(tx, { commands: wanted, nowMs });
  const machineSha256 = createHash('sha256').update(machineId).digest('hex');
  const outgoing: { seq: number; text: string }[] = [];
  let nextSeq = lock.nextSeq;
  for (const command of commands) {
    const { seq, key_id: keyId, envelope } = command;
    const stands =
      seq !== null &&
      keyId !== null &&
      envelope !== null &&
      keyRing.isActive(keyId) &&
      command.machine_sha256 === machineSha256 &&
      command.epoch === keyRing.epoch();
    if (stands) {
      outgoing.push({ seq, text: envelope });
      continue;
    }
    const signed = signCommand(keyRing, { command, seq: nextSeq, machineSha256, nowMs });
    const change = { ...signed, status: 'sent', seq: nextSeq, machine_sha256: machineSha256, sent_at: nowMs };
    if (await compareAndSwapStatus(tx, { id: command.id, from: ['pending', 'sent'], change })) {
      outgoing.push({ seq: nextSeq, text: signed.envelope });
    }
    nextSeq++;
  }
  if (nextSeq !== lock.nextSeq) await setNextSeq(tx, { agentId, nextSeq });
  return outgoing.toSorted((a, b) => a.seq - b.seq).map(({ text }) => text);
}

/** An install command is as good as its approval: one whose token is gone is cancelled instead of delivered. */
async function withdrawUnapproved(
  tx: Tx,
  { commands, nowMs }: { commands: readonly CommandRow[]; nowMs: number },
): Promise<CommandRow[]> {
  const installs = commands.filter((command) => command.action === 'install_update');
  const live = await stillApproved(tx, { commandIds: installs.map((command) => command.id), nowMs });
  for (const command of installs) {
    if (live.has(command.id)) continue;
    const change = { status: 'cancelled', reason: 'approval_gone', finished_at: nowMs };
    await compareAndSwapStatus(tx, { id: command.id, from: ['pending', 'sent'], change });
  }
  return commands.filter((command) => command.action !== 'install_update' || live.has(command.id));
}

const payloads = Compile(CommandPayload);

function signCommand(
  keyRing: Pick<KeyRing, 'fleetId' | 'epoch' | 'signer'>,
  args: { command: CommandRow; seq: number; machineSha256: string; nowMs: number },
): { key_id: string; epoch: number; envelope: string } {
  const { command } = args;
  const { keyId, keyVersion, sign } = keyRing.signer();
  const epoch = keyRing.epoch();
  const params: unknown = JSON.parse(command.params);
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
    expires_at: rfc3339Seconds(command.expires_at),
    key_id: keyId,
    key_version: keyVersion,
    action: command.action,
    params,
    ...(command.approval_id === null
      ? {}
      : { approval: { token_id: command.approval_id, sha256: command.approval_sha256 } }),
    crit: [],
  };
  // What the agent would refuse is not signed.
  if (!payloads.Check(payload)) throw new Error(`the command ${command.id} in the database is not valid`);
  const envelope = sign(COMMAND_TYPE, Buffer.from(JSON.stringify(payload)));
  return { key_id: keyId, epoch, envelope: JSON.stringify(envelope) };
}
