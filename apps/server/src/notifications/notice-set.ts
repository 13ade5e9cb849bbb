import type { NoticeSet } from '@tidegate/protocol/notifications-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import { listedUpdates } from '../updates/list-store.ts';
import { updateItem } from '../updates/update-view.ts';
import { type DeliveryRow, messageOf } from './delivery-store.ts';
import { updateIdsIn } from './views.ts';

/**
 * The set of a notice for one operator; null if nothing in it is theirs. Its id grants nothing: what an operator sees is
 * decided here as in every list, and a text that may speak of other hosts is for operators of the whole fleet.
 */
export async function readNoticeSet(
  db: Db,
  { row, scope }: { row: DeliveryRow; scope: GroupScope },
): Promise<NoticeSet | null> {
  const updates = await listedUpdates(db, { ids: updateIdsIn(row), scope });
  if (scope !== null && updates.length === 0) return null;
  const { subject, summary, severity } = messageOf(row);
  const isWhole = scope === null;
  return {
    ...{ id: row.id, at: rfc3339(row.created_at), severity },
    ...{ subject: isWhole ? subject : null, summary: isWhole ? summary : null },
    updates: updates.map(updateItem),
    left_out: isWhole ? row.left_out : 0,
  };
}
