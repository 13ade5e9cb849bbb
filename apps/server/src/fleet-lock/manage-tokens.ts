import { FleetLockGroup } from '@tidegate/protocol/fleet-lock';
import { Check } from 'typebox/value';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { lockGroup } from '../reboot-slots/store.ts';
import { hashSecret, makeSecret } from './credentials.ts';
import { countTokens, insertToken, markRevoked } from './store.ts';

/** Tokens of one group: the second is for changing the first without a gap. */
export const TOKENS_PER_GROUP_MAX = 2;
/** Tokens of all groups together. */
export const TOKENS_MAX = 1_000;

export type AddOutcome =
  | { ok: true; id: string; secret: string }
  | { ok: false; why: 'group_form' | 'group_full' | 'full' };

/** Makes a token for the clients of one group; its secret is only in this answer. */
export async function addToken(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now' | 'random'>,
  { group, by }: { group: string; by: string },
): Promise<AddOutcome> {
  if (!Check(FleetLockGroup, group)) return { ok: false, why: 'group_form' };
  // Two commands at once would both count one token.
  await lockGroup(tx, group);
  if ((await countTokens(tx, group)) >= TOKENS_PER_GROUP_MAX) return { ok: false, why: 'group_full' };
  if ((await countTokens(tx, null)) >= TOKENS_MAX) return { ok: false, why: 'full' };
  const [id, secret] = [platform.newId(), makeSecret(platform.random)];
  await insertToken(tx, {
    ...{ id, group_name: group, secret_hash: hashSecret(secret) },
    ...{ created_by: by, created_at: platform.now(), revoked_at: null },
  });
  await recordChange(tx, platform, { change: 'created', id, group, by });
  return { ok: true, id, secret };
}

/** The slots that clients hold stay theirs; false where there is no such token. */
export async function revokeToken(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { id, by }: { id: string; by: string },
): Promise<boolean> {
  const group = await markRevoked(tx, { id, nowMs: platform.now() });
  if (group === null) return false;
  await recordChange(tx, platform, { change: 'revoked', id, group, by });
  return true;
}

async function recordChange(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { by, ...content }: { change: 'created' | 'revoked'; id: string; group: string; by: string },
): Promise<void> {
  await appendEvent(tx, platform, {
    ...{ kind: 'security', type: 'FLEET_LOCK_TOKEN_CHANGED', severity: 'warning', component: 'reboots' },
    ...{ actor: by, content },
  });
}
