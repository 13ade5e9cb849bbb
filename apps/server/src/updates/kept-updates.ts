import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { charge } from '../outsiders/charge.ts';
import { compareText } from '../platform/compare-text.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { offerKey, rowKey } from './scan-rules.ts';
import type { KnownUpdate, UpdateRow } from './store.ts';
import { CLOSED_STATES } from './transition-rules.ts';
import { transitionUpdate } from './transition-update.ts';

/**
 * Open updates that are kept of one package manager of a host: an honest host has hundreds. What a host offers no more stays open,
 * so that one that makes up offers would fill the database, and all of them are read with each of its reports.
 */
export const OPEN_MAX = 20_000;

interface Scanned {
  readonly complete: boolean;
  readonly known: ReadonlyMap<string, KnownUpdate>;
  readonly openMax: number;
}

/** The pending updates beyond what is kept that the host offers no more, the oldest first; `closing` are closed anyway. */
export function beyondKept(
  { complete, known, openMax }: Scanned,
  { updates, closing }: { updates: readonly InventoryUpdate[]; closing: readonly KnownUpdate[] },
): KnownUpdate[] {
  const open = openOf(known);
  const beyond = open.length - closing.length - openMax;
  if (!complete || beyond <= 0) return [];
  const kept = new Set([...updates.map(offerKey), ...closing.map(rowKey)]);
  return open
    .filter((row) => row.state === 'pending' && row.rollback_of === null && !kept.has(rowKey(row)))
    .sort((a, b) => compareText(a.id, b.id))
    .slice(0, beyond);
}

/** Charges a host for updates that it has not offered before. Past its daily budget they are not recorded, and false comes back. */
export async function mayOffer(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, rows }: { agentId: string; rows: readonly UpdateRow[] },
): Promise<boolean> {
  if (rows.length === 0) return true;
  const bytes = rows.reduce((sum, row) => sum + Buffer.byteLength(`${rowKey(row)}${row.origin ?? ''}`), 0);
  return charge(tx, platform, { kind: 'offers', subject: { agentId }, rows: rows.length, bytes });
}

export async function closeBeyond(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  rows: readonly KnownUpdate[],
): Promise<void> {
  for (const { id: updateId } of rows) {
    const move = { updateId, from: ['pending'], to: 'superseded', actor: 'scan' } as const;
    await transitionUpdate(tx, platform, { ...move, reason: 'no_longer_offered' });
  }
}

export function openOf(known: ReadonlyMap<string, KnownUpdate>): KnownUpdate[] {
  return [...known.values()].filter((row) => !CLOSED_STATES.some((state) => state === row.state));
}
