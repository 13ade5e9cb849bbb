import type { ResyncGate } from '../agent-credentials/renew-tokens.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { RevocationJournal } from './revocation-journal.ts';
import {
  closeResync,
  insertResync,
  insertResynced,
  isResynced,
  openResync,
  type ResyncRow,
} from './store.ts';

const HOUR_MS = 3_600_000;

/** What renewal asks in an open resync: each family may resync once, and none that the journal names. */
export function createResyncGate(journal: Pick<RevocationJournal, 'has'>): ResyncGate {
  return {
    async isOpenFor(tx, { familyId, nowMs }) {
      if (journal.has('family', familyId)) return false;
      const open = await openResync(tx, nowMs);
      return open !== null && !(await isResynced(tx, { resyncId: open.id, familyId }));
    },
    async take(tx, { familyId, nowMs }) {
      const open = await openResync(tx, nowMs);
      if (!open) throw new Error('the resync was closed within the transaction that holds it open');
      await insertResynced(tx, { resync_id: open.id, family_id: familyId, at: nowMs });
    },
  };
}

/** Opens a resync for so many hours; null if one is open. The event is critical, because a resync forgives reuse. */
export async function openNewResync(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { hours, reason, actor }: { hours: number; reason: string; actor: string },
): Promise<ResyncRow | null> {
  const nowMs = platform.now();
  if (await openResync(tx, nowMs)) return null;
  const row = await insertResync(tx, {
    id: platform.newId(),
    opened_at: nowMs,
    closes_at: nowMs + hours * HOUR_MS,
    closed_at: null,
    reason,
    opened_by: actor,
  });
  await appendChange(tx, platform, { actor, content: { act: 'opened', hours, reason } });
  return row;
}

/** Closes the open resync early; false if none is open. */
export async function closeOpenResync(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  actor: string,
): Promise<boolean> {
  const atMs = platform.now();
  const open = await openResync(tx, atMs);
  if (!open || !(await closeResync(tx, { id: open.id, atMs }))) return false;
  await appendChange(tx, platform, { actor, content: { act: 'closed', resync_id: open.id } });
  return true;
}

async function appendChange(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { actor, content }: { actor: string; content: Readonly<Record<string, unknown>> },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'REFRESH_RESYNC',
    severity: 'critical',
    component: 'restore',
    actor,
    content,
  });
}
