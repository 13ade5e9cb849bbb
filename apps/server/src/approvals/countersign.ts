import { APPROVAL_MAX_BYTES, Envelope } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { maximumSignatures } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { addApprovalSignature, findApprovalOfUpdate } from '../approval-tokens/store.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Platform } from '../platform/platform.ts';
import { lockUpdate } from '../updates/lock-updates.ts';
import { hasHost } from './has-host.ts';
import { signatureDigest } from './signature-digest.ts';

export type CountersignOutcome =
  | { kind: 'signed'; token: Envelope }
  | { kind: 'not_found' }
  /** There is no live approval. */
  | { kind: 'conflict' }
  /** The approval has as many signatures, or bytes, as an agent accepts. */
  | { kind: 'full' };

/**
 * Adds a signature beside the server's to the live approval of an update. Only a host knows the keys that it requires, so
 * the server checks just the format; the host verifies the signature.
 */
export async function countersignApproval(
  platform: Platform,
  given: { updateId: string; operator: string; signature: { keyid: string; sig: string } },
): Promise<CountersignOutcome> {
  const { updateId, operator, signature } = given;
  return platform.database.transact(async (tx): Promise<CountersignOutcome> => {
    if (!(await lockUpdate(tx, { engine: platform.database.engine, updateId }))) return { kind: 'not_found' };
    if (!(await hasHost(tx, updateId))) return { kind: 'not_found' };
    const row = await findApprovalOfUpdate(tx, { updateId, nowMs: platform.now() });
    if (!row) return { kind: 'conflict' };
    const stored = parseStrictJson(row.envelope);
    if (!stored.ok || !Value.Check(Envelope, stored.value))
      throw new Error('the stored approval is not an envelope');
    const token = stored.value;
    if (token.signatures.some(({ sig }) => sig === signature.sig)) return { kind: 'signed', token };
    const signed = { ...token, signatures: [...token.signatures, signature] };
    const envelope = JSON.stringify(signed);
    const isFull = signed.signatures.length > maximumSignatures;
    if (isFull || Buffer.byteLength(envelope) > APPROVAL_MAX_BYTES) return { kind: 'full' };
    await addApprovalSignature(tx, { tokenId: row.token_id, envelope });
    await appendEvent(tx, platform, {
      kind: 'system',
      type: 'approval_countersigned',
      severity: 'info',
      component: 'approvals',
      agentId: row.agent_id,
      actor: operator,
      content: {
        update_id: updateId,
        token_id: row.token_id,
        keyid: signature.keyid,
        sig_sha256: signatureDigest(signature),
      },
    });
    return { kind: 'signed', token: signed };
  });
}
