import { createHash } from 'node:crypto';
import { Envelope, type ServerKey } from '@tidegate/protocol/documents';
import type { CommandAction } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import { lockAgent, setNextSeq } from '../agents/store.ts';
import { storedApproval } from '../approval-tokens/store.ts';
import { queueEnforcement } from '../artifacts/enforcement-store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { isSealed } from '../platform/db/row-seals.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { needsApproval } from './approval-rules.ts';
import { checkStoredApproval } from './check-stored-approval.ts';
import { divergencesOfApproval } from './diverging-approval.ts';
import { expireCommands } from './expire-commands.ts';
import { refuseToSign } from './refuse-to-sign.ts';
import { signCommand } from './sign-command.ts';
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

/** What delivery asks of the key ring. */
export type DeliveryKeys = Pick<KeyRing, 'fleetId' | 'epoch' | 'isActive' | 'signer'> & {
  keySet(): { keys: readonly ServerKey[] };
  /** Every key that was ever there. */
  rows(): readonly { key_id: string }[];
};

/**
 * Takes the receipts of an agent and returns what it is to be given, as JSON texts of envelopes in rising order of
 * `seq`. Sequence number, key and machine digest are given at first delivery; a redelivery has the same bytes unless
 * the key was revoked, the machine rebound or the epoch changed: then it is signed anew with a new `seq`.
 */
export async function deliverCommands(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  keyRing: DeliveryKeys,
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
    if (!isSealed(tx, 'agent_commands', command)) {
      await refuseToSign(tx, platform, { command, check: 'not_sealed' });
      continue;
    }
    if (!(await isApproved(tx, platform, keyRing, command))) continue;
    const outcome = signCommand(keyRing, { command, seq: nextSeq, machineSha256, nowMs });
    if (!outcome.ok) {
      await refuseToSign(tx, platform, { command, check: 'not_valid' });
      continue;
    }
    const { signed } = outcome;
    const change = { ...signed, status: 'sent', seq: nextSeq, machine_sha256: machineSha256, sent_at: nowMs };
    if (
      await compareAndSwapStatus(tx, {
        id: command.id,
        from: ['pending', 'sent'],
        change,
        nowMs: platform.now(),
      })
    ) {
      outgoing.push({ seq: nextSeq, text: signed.envelope });
    }
    nextSeq++;
  }
  if (nextSeq !== lock.nextSeq) await setNextSeq(tx, { agentId, nextSeq });
  return outgoing.toSorted((a, b) => a.seq - b.seq).map(({ text }) => text);
}

/** An installing command is as good as its approval: one whose token is gone is cancelled instead of delivered. */
async function withdrawUnapproved(
  tx: Tx,
  { commands, nowMs }: { commands: readonly CommandRow[]; nowMs: number },
): Promise<CommandRow[]> {
  const installs = commands.filter((command) => needsApproval(command.action));
  const live = await stillApproved(tx, { commandIds: installs.map((command) => command.id), nowMs });
  for (const command of installs) {
    if (live.has(command.id)) continue;
    const change = { status: 'cancelled', reason: 'approval_gone', finished_at: nowMs };
    await compareAndSwapStatus(tx, {
      id: command.id,
      from: ['pending', 'sent'],
      change,
      nowMs,
    });
  }
  return commands.filter((command) => !needsApproval(command.action) || live.has(command.id));
}

/** Whether the signed approval bears a command that needs one, or names one; where it does not, the command ends. */
async function isApproved(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  keyRing: DeliveryKeys,
  command: CommandRow,
): Promise<boolean> {
  const { approval_id: tokenId } = command;
  if (!needsApproval(command.action) && tokenId === null) return true;
  const stored = tokenId === null ? null : await storedApproval(tx, tokenId);
  const keys = { fleetId: keyRing.fleetId, active: keyRing.keySet().keys };
  const envelope = stored?.envelope ?? null;
  const fault = checkStoredApproval(keys, { command, envelope, nowMs: platform.now() });
  if (fault === null) {
    if (envelope === null || !(await isDiverging(tx, platform, { command, envelope }))) return true;
    const change = { status: 'cancelled', reason: 'artifact_divergence', finished_at: platform.now() };
    await compareAndSwapStatus(tx, {
      id: command.id,
      from: ['pending', 'sent'],
      change,
      nowMs: platform.now(),
    });
    return false;
  }
  const isKnown = keyRing.rows().some((row) => row.key_id === stored?.key_id);
  if (stored && isKnown && !keyRing.isActive(stored.key_id)) {
    // Nothing forged: its key was revoked, and the upkeep of approvals hands the update back to a human.
    const change = { status: 'cancelled', reason: 'approval_gone', finished_at: platform.now() };
    await compareAndSwapStatus(tx, {
      id: command.id,
      from: ['pending', 'sent'],
      change,
      nowMs: platform.now(),
    });
  } else {
    await refuseToSign(tx, platform, { command, check: fault });
  }
  return false;
}

/** Whether an artifact of a sound approval diverges by now; the upkeep then hands its update back to a human. */
async function isDiverging(
  tx: Tx,
  { now }: Pick<Platform, 'now'>,
  { command, envelope }: { command: CommandRow; envelope: string },
): Promise<boolean> {
  const parsed: unknown = JSON.parse(envelope);
  const diverging = Value.Check(Envelope, parsed) ? await divergencesOfApproval(tx, parsed) : [];
  if (diverging.length === 0) return false;
  await queueEnforcement(tx, { kind: 'host', subject: command.agent_id, width: 1, queued_at: now() });
  return true;
}
