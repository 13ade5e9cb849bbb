import { VEX_STATEMENTS_MAX, type VexFormat } from '@tidegate/protocol/vex-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import { toCycloneDx } from './documents/cyclonedx.ts';
import { toOpenVex } from './documents/openvex.ts';
import { requestOf } from './statement-view.ts';
import { statementsInForce } from './store.ts';

const WRITERS = { openvex: toOpenVex, cyclonedx: toCycloneDx } as const;

export const NOTHING_TO_EXPORT =
  'No statement is in force, and a document needs at least one. Add one, or import a document.';

/** All statements in force as one document, oldest first; null without any. */
export async function exportDocument(
  platform: Pick<Platform, 'database' | 'now' | 'newId'>,
  { format, fleetId }: { format: VexFormat; fleetId: string },
): Promise<object | null> {
  const nowMs = platform.now();
  const rows = await statementsInForce(platform.database.read, { nowMs, limit: VEX_STATEMENTS_MAX });
  if (rows.length === 0) return null;
  const about = {
    id: platform.newId(),
    author: `Tidegate fleet ${fleetId}`,
    timestamp: rfc3339(nowMs),
  };
  return WRITERS[format](rows.map(requestOf), about);
}
