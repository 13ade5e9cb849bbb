import { createHash } from 'node:crypto';
import { CommandPayload, Envelope, type ServerKey } from '@tidegate/protocol/documents';
import { RebootOrder } from '@tidegate/protocol/reboots';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Value } from 'typebox/value';
import { lockAgent, setNextSeq } from '../agents/store.ts';
import { storedApproval } from '../approval-tokens/store.ts';
import { queueEnforcement } from '../artifacts/enforcement-store.ts';
import { CHANGING_ACTIONS } from '../blackouts/blackout-rules.ts';
import { freezeOfHost, NO_FREEZE } from '../blackouts/freeze-of-host.ts';
import { enforceAgain, holdsInForce } from '../holds/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { isSealed } from '../platform/db/row-seals.ts';
import type { Platform } from '../platform/platform.ts';
import { takeSlot } from '../reboot-slots/take-slot.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { needsApproval } from './approval-rules.ts';
import { checkStoredApproval } from './check-stored-approval.ts';
import { divergencesOfApproval } from './diverging-approval.ts';
import { expireCommands } from './expire-commands.ts';
import { heldByApproval } from './held-approval.ts';
import { refuseToSign } from './refuse-to-sign.ts';
import { signCommand } from './sign-command.ts';
import {
  type CommandRow,
  compareAndSwapStatus,
  deliverable,
  markReceived,
  ownUpdates,
  stillApproved,
} from './store.ts';

/** Commands per check-in. */
export const DELIVERED_MAX = 50;

export interface Delivery {
  agentId: string;
  machineId: string;
  /** Ids of commands that the agent has stored durably. */
  received: readonly string[];
  /** For an outdated agent: it receives its own update and nothing else. */
  ownUpdateOnly?: boolean;
}

/** The members of the key ring that delivery uses. */
export type DeliveryKeys = Pick<KeyRing, 'fleetId' | 'epoch' | 'isActive' | 'signer'> & {
  keySet(): { keys: readonly ServerKey[] };
  /** Every key that ever existed. */
  rows(): readonly { key_id: string }[];
};

/**
 * Records an agent's receipts and returns its commands, as JSON texts of envelopes in rising order of `seq`.
 * The first delivery assigns sequence number, key and machine digest. A redelivery has the same bytes, unless
 * the key was revoked, the machine rebound, the epoch changed, or what was signed ended before a blackout: then it is
 * signed anew with a new `seq`.
 */
export async function deliverCommands(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  keyRing: DeliveryKeys,
  { agentId, machineId, received, ownUpdateOnly = false }: Delivery,
): Promise<string[]> {
  const lock = await lockAgent(tx, agentId);
  if (!lock) return [];
  const nowMs = platform.now();
  await markReceived(tx, { agentId, ids: received, nowMs });
  // The host has said what it received: what is overdue now it has not.
  await expireCommands(tx, platform, { agentId });
  const { open, notAfterMs } = await openCommands(tx, { agentId, nowMs });
  const wanted = ownUpdateOnly ? await ownUpdates(tx, open) : open;
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
      command.epoch === keyRing.epoch() &&
      signedEndMs(envelope) > nowMs;
    if (stands) {
      outgoing.push({ seq, text: envelope });
      continue;
    }
    if (!isSealed(tx, 'agent_commands', command)) {
      await refuseToSign(tx, platform, { command, check: 'not_sealed' });
      continue;
    }
    if (!(await isApproved(tx, platform, keyRing, command))) continue;
    if (!(await hasSlot(tx, platform, command))) continue;
    const outcome = signCommand(keyRing, {
      command,
      seq: nextSeq,
      machineSha256,
      nowMs,
      notAfterMs: isChanging(command) ? notAfterMs : Infinity,
    });
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

/** Commands that are due, without what a blackout withholds, and when one that changes the host may begin at the latest. */
async function openCommands(
  tx: Tx,
  { agentId, nowMs }: { agentId: string; nowMs: number },
): Promise<{ open: CommandRow[]; notAfterMs: number }> {
  const due = { agentId, nowMs, limit: DELIVERED_MAX };
  const open = await deliverable(tx, due);
  const { by, notAfterMs } = open.some(isChanging) ? await freezeOfHost(tx, { agentId, nowMs }) : NO_FREEZE;
  if (by === null) return { open, notAfterMs };
  // Read again: what is withheld must not take the places of what is not.
  return { open: await deliverable(tx, { ...due, without: CHANGING_ACTIONS }), notAfterMs };
}

/**
 * Whether a host may go down now: the slot comes last, so that nothing that keeps a command from being delivered holds
 * one (decision 0058). Without one the command waits.
 */
async function hasSlot(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { id: commandId, agent_id: agentId, action, params, expires_at: expiresAtMs }: CommandRow,
): Promise<boolean> {
  if (action !== 'reboot') return true;
  const order = parseStrictJson(params);
  // One that is not valid is never signed, and needs no slot for that.
  if (!order.ok || !Value.Check(RebootOrder, order.value)) return true;
  const { boot_id: bootId } = order.value;
  return (await takeSlot(tx, platform, { agentId, commandId, bootId, expiresAtMs })) === 'free';
}

function isChanging({ action }: CommandRow): boolean {
  return CHANGING_ACTIONS.some((changing) => changing === action);
}

/** One that was signed to end before a blackout is signed anew after it. */
function signedEndMs(envelope: string): number {
  const { payload } = Value.Parse(Envelope, JSON.parse(envelope));
  const { expires_at } = Value.Parse(
    CommandPayload,
    JSON.parse(Buffer.from(payload, 'base64').toString('utf8')),
  );
  return Date.parse(expires_at);
}

/** Cancels an installing command whose token is gone, instead of delivering it. */
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

/** Whether a command's approval is valid, if it needs or names one; if not, the command ends. */
async function isApproved(
  tx: Tx,
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
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
    if (envelope === null) return true;
    const reason = await withdrawnFor(tx, platform, { command, envelope });
    if (reason === null) return true;
    const change = { status: 'cancelled', reason, finished_at: platform.now() };
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
    // Not forged: its key was revoked, and the approval maintenance returns the update to the operators.
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

/** Why a valid approval is not delivered any more; the approval maintenance then returns its updates. Null: it is. */
async function withdrawnFor(
  tx: Tx,
  { now }: Pick<Platform, 'now'>,
  { command, envelope }: { command: CommandRow; envelope: string },
): Promise<'artifact_divergence' | 'held' | null> {
  const parsed: unknown = JSON.parse(envelope);
  if (!Value.Check(Envelope, parsed)) return null;
  if ((await divergencesOfApproval(tx, parsed)).length > 0) {
    await queueEnforcement(tx, { kind: 'host', subject: command.agent_id, width: 1, queued_at: now() });
    return 'artifact_divergence';
  }
  const held = await heldByApproval(tx, parsed, await holdsInForce(tx, now()));
  await enforceAgain(
    tx,
    held.map(({ holdId }) => holdId),
  );
  return held.length > 0 ? 'held' : null;
}
