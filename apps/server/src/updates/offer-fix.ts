import { changeOf } from '@tidegate/versions/change';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import type { Candidates } from './candidates-store.ts';
import { bitOf, isSmallestFix } from './offer-rules.ts';
import { newRow } from './record-scan.ts';
import {
  insertHistory,
  insertUpdates,
  type KnownUpdate,
  openUpdatesOfPackage,
  refreshUpdate,
  type UpdateRow,
} from './store.ts';
import { transitionUpdate } from './transition-update.ts';

const FIX = bitOf('smallest_fix');

/**
 * Offers a version as the smallest fix of a package, beside what its host reports, and withdraws the offer of another;
 * null: none is a fix. An approved version keeps its offer. Returns the update if it is a new row, which has no plan. The
 * caller holds the agent's lock.
 */
export async function offerFix(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { of, fixVersion }: { of: Candidates; fixVersion: string | null },
): Promise<UpdateRow | null> {
  const open = await openUpdatesOfPackage(tx, of);
  for (const row of open) {
    if (row.available_version === fixVersion) await markFix(tx, platform, { row, of });
    else if (isSmallestFix(row.offers)) await unmarkFix(tx, platform, { row, fixVersion });
  }
  if (fixVersion === null || open.some((row) => row.available_version === fixVersion)) return null;
  const { agentId, name, arch, currentVersion } = of;
  const update = { name, arch, current_version: currentVersion, available_version: fixVersion, offers: [] };
  const row = {
    ...newRow(platform, { agentId, ecosystem: of.ecosystem, update }),
    ...{ offers: FIX, origin: open[0]?.origin ?? null },
  };
  await insertUpdates(tx, [row]);
  const step = { at: row.discovered_at, from_state: null, to_state: 'pending', reason: 'smallest_fix' };
  await insertHistory(tx, [{ id: platform.newId(), update_id: row.id, ...step, actor: 'server' }]);
  return row;
}

async function markFix(
  tx: Tx,
  platform: Pick<Platform, 'now'>,
  { row, of }: { row: KnownUpdate; of: Candidates },
): Promise<void> {
  const offers = row.offers | FIX;
  if (offers === row.offers && row.current_version === of.currentVersion) return;
  const change = changeOf(of.ecosystem, { from: of.currentVersion, to: row.available_version });
  const facts = { offers, change, current_version: of.currentVersion, updated_at: platform.now() };
  await refreshUpdate(tx, row.id, { ...row, ...facts });
}

async function unmarkFix(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { row, fixVersion }: { row: KnownUpdate; fixVersion: string | null },
): Promise<void> {
  if (row.state === 'approved' || row.state === 'installing') return;
  const offers = row.offers & ~FIX;
  if (offers === 0) {
    const move = {
      updateId: row.id,
      from: ['pending', 'awaiting_plan'],
      to: 'superseded',
      actor: 'server',
    } as const;
    const reason = fixVersion === null ? 'no_longer_offered' : `superseded_by: ${fixVersion}`;
    if (await transitionUpdate(tx, platform, { ...move, reason })) return;
  }
  await refreshUpdate(tx, row.id, { ...row, offers, updated_at: platform.now() });
}
