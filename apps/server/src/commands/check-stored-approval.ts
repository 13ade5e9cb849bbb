import { createHash } from 'node:crypto';
import {
  APPROVAL_TYPE,
  type ApprovalPayload as Approval,
  ApprovalPayload,
  type ServerKey,
} from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { loadTrustedKey, type TrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Compile } from 'typebox/compile';
import { type ApprovalFault, approvalFault } from './approval-rules.ts';
import { updatesOfCommand } from './named-updates.ts';
import type { CommandRow } from './store.ts';

const payloads = Compile(ApprovalPayload);

/**
 * Returns why the approval of a command is invalid, or null. An attacker who writes to the database can write
 * rows of commands, updates and approvals (T6), but not a signature: only what a key of the key set signed
 * counts, and only for the agent and the updates that the command names.
 */
export function checkStoredApproval(
  keys: { fleetId: string; active: readonly ServerKey[] },
  { command, envelope, nowMs }: { command: CommandRow; envelope: string | null; nowMs: number },
): ApprovalFault | null {
  const opened = envelope === null ? null : openApproval(keys.active, envelope);
  return approvalFault({
    approval: opened?.payload ?? null,
    sha256: opened?.sha256 ?? null,
    fleetId: keys.fleetId,
    agentId: command.agent_id,
    updateIds: updatesOfCommand(command),
    reference: { tokenId: command.approval_id, sha256: command.approval_sha256 },
    nowMs,
  });
}

function openApproval(
  active: readonly ServerKey[],
  envelope: string,
): { payload: Approval; sha256: string } | null {
  const parsed = parseStrictJson(envelope);
  if (!parsed.ok) return null;
  const verified = verifyEnvelope(parsed.value, trustedOf(active), APPROVAL_TYPE);
  const payload = verified.ok ? parseStrictJson(verified.payload) : null;
  if (!verified.ok || !payload?.ok || !payloads.Check(payload.value)) return null;
  return { payload: payload.value, sha256: createHash('sha256').update(verified.payload).digest('hex') };
}

/** By the list of a key set, which is made anew with each change of the set: loading a key costs more than verifying with it. */
const loadedKeys = new WeakMap<readonly ServerKey[], readonly TrustedKey[]>();

function trustedOf(active: readonly ServerKey[]): readonly TrustedKey[] {
  const known = loadedKeys.get(active);
  if (known !== undefined) return known;
  const trusted = active.map(({ key_id: keyId, public_key_hex: publicKeyHex }) =>
    loadTrustedKey({ keyId, publicKeyHex }),
  );
  loadedKeys.set(active, trusted);
  return trusted;
}
