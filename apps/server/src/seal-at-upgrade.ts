import { appendEvent } from './events/append-event.ts';
import type { Tx } from './platform/db/engine.ts';
import { schemaVersion } from './platform/db/schema-version.ts';
import { sealRows } from './platform/db/seal-rows.ts';
import type { Platform } from './platform/platform.ts';
import { readSealMarker, SEALS_SCHEMA_VERSION, writeSealMarker } from './platform/seal-marker.ts';

/**
 * Before the migrations: notes whether this is the upgrade that brings the seals. A database that has them already is
 * never sealed by a start, be the data folder new or not: a row without a seal is refused there.
 */
export async function prepareSealing(platform: Platform, dataDir: string): Promise<void> {
  if (readSealMarker(dataDir) !== 'absent') return;
  const version = await schemaVersion(platform.database.read);
  writeSealMarker(dataDir, version !== null && version < SEALS_SCHEMA_VERSION ? 'pending' : 'sealed');
}

/** After the migrations: seals the rows from before, once. A crash in between leaves it to the next start. */
export async function sealOnce(platform: Platform, dataDir: string): Promise<void> {
  if (readSealMarker(dataDir) !== 'pending') return;
  const rows = await platform.database.transact((tx) =>
    sealAsTheyAre(tx, platform, { which: 'missing', actor: 'server', reason: 'upgrade' }),
  );
  writeSealMarker(dataDir, 'sealed');
  platform.log.warn(
    'rows that give rights were sealed as they were: from now on one without a seal is refused',
    {
      rows,
    },
  );
}

/** Seals rows whoever wrote them, and leaves an event. Returns how many. */
export async function sealAsTheyAre(
  tx: Tx,
  platform: Platform,
  { which, actor, reason }: { which: 'missing' | 'broken'; actor: string; reason: string },
): Promise<number> {
  const counts = await sealRows(tx, which);
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  if (rows === 0) return 0;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'ROWS_SEALED',
    severity: which === 'broken' ? 'critical' : 'warning',
    component: 'security',
    actor,
    content: { rows, tables: counts, reason },
  });
  return rows;
}
