import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import {
  formRefreshToken,
  hashRefreshToken,
  type PresentedToken,
  REFRESH_SECRET_BYTES,
  REFRESH_TOKEN_LIFETIME_MS,
} from './refresh-tokens.ts';
import { hashRequestId } from './renewal-facts.ts';
import { openChild, sealChild } from './sealed-child.ts';
import { type FamilyRow, type Rotation, rotateFamily } from './store.ts';

/** A family's next token, as sent to the agent. */
export interface Child {
  text: string;
  issuedAtMs: number;
}

export interface Presented {
  token: PresentedToken;
  requestId: string | null;
  nowMs: number;
}

/** Makes the current token the previous one, with a new grace; displaced tokens become old. */
export async function rotate(
  tx: Tx,
  { platform, tagKey }: { platform: Platform; tagKey: Buffer },
  { family, presented, isResync }: { family: FamilyRow; presented: Presented; isResync: boolean },
): Promise<Child> {
  const { token } = presented;
  const seq = (isResync ? token.seq : family.cur_seq) + 1;
  const { child, rotation } = rotationOf({ platform, tagKey }, { family, presented, seq });
  await swap(tx, family, rotation);
  if (isResync) {
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'REFRESH_RESYNC',
      severity: 'critical',
      component: 'agent-credentials',
      agentId: family.agent_id,
      actor: 'agent',
      content: { family_id: family.id, presented_seq: token.seq, database_seq: family.cur_seq },
    });
  }
  return child;
}

/** The next token of a family, and its row with that token. */
export function rotationOf(
  { platform, tagKey }: { platform: Pick<Platform, 'random'>; tagKey: Buffer },
  { family, presented, seq }: { family: FamilyRow; presented: Presented; seq: number },
): { child: Child; rotation: Rotation } {
  const { token, requestId, nowMs } = presented;
  const text = mint(platform, { tagKey, familyId: family.id, seq });
  const rotation: Rotation = {
    cur_seq: seq,
    cur_hash: hashRefreshToken(text),
    cur_issued_at: nowMs,
    prev_hash: hashRefreshToken(token.text),
    // After a restore its time of issue is unknown, but not before the last rotation in the database.
    prev_issued_at: family.cur_issued_at,
    prev_grace_used: 0,
    displaced_hashes: '[]',
    request_id_hash: requestId === null ? null : hashRequestId(requestId),
    sealed_child:
      requestId === null
        ? null
        : sealChild(text, { parentSecret: token.secret, familyId: family.id, random: platform.random }),
    last_rotated_at: nowMs,
    expires_at: nowMs + REFRESH_TOKEN_LIFETIME_MS,
  };
  return { child: { text, issuedAtMs: nowMs }, rotation };
}

/** Accepts the previous token once more: the same request gets its child again, another one displaces that child. */
export async function grace(
  tx: Tx,
  { platform, tagKey }: { platform: Platform; tagKey: Buffer },
  { family, presented, child }: { family: FamilyRow; presented: Presented; child: 'same' | 'new' },
): Promise<Child> {
  const sealed = child === 'same' ? family.sealed_child : null;
  const parentSecret = presented.token.secret;
  const same = sealed === null ? null : openChild(sealed, { parentSecret, familyId: family.id });
  const text = same ?? mint(platform, { tagKey, familyId: family.id, seq: family.cur_seq });
  const issuedAtMs = same === null ? presented.nowMs : family.cur_issued_at;
  await swap(tx, family, {
    cur_seq: family.cur_seq,
    cur_hash: hashRefreshToken(text),
    cur_issued_at: issuedAtMs,
    prev_hash: family.prev_hash,
    prev_issued_at: family.prev_issued_at,
    prev_grace_used: 1,
    displaced_hashes: same === null ? JSON.stringify([family.cur_hash]) : family.displaced_hashes,
    // The previous token is never accepted again, so its request need not be kept.
    request_id_hash: null,
    sealed_child: null,
    last_rotated_at: presented.nowMs,
    expires_at: issuedAtMs + REFRESH_TOKEN_LIFETIME_MS,
  });
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'REFRESH_GRACE_USED',
    severity: 'info',
    component: 'agent-credentials',
    agentId: family.agent_id,
    actor: 'agent',
    content: { family_id: family.id, seq: presented.token.seq, child: same === null ? 'new' : 'same' },
  });
  return { text, issuedAtMs };
}

async function swap(tx: Tx, family: FamilyRow, rotation: Rotation): Promise<void> {
  const swapped = await rotateFamily(tx, { familyId: family.id, fromHash: family.cur_hash, rotation });
  if (!swapped) throw new Error('a family changed while its row was locked');
}

function mint(
  platform: Pick<Platform, 'random'>,
  { tagKey, familyId, seq }: { tagKey: Buffer; familyId: string; seq: number },
): string {
  return formRefreshToken(tagKey, { familyId, seq, secret: platform.random(REFRESH_SECRET_BYTES) });
}
