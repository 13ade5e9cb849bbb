import { NOTICES_KEPT, type Notice, type NoticeKind } from '@tidegate/protocol/notices-api';
import { rfc3339 } from '../../platform/clock.ts';
import type { Tx } from '../../platform/db/engine.ts';
import type { OperatorCaller } from '../../platform/http/access.ts';
import type { Platform } from '../../platform/platform.ts';
import { insertNotice, keepNewestNotices, type NoticeRow } from './store.ts';

/** Who did it, and from where; the address is null at the command line of the server. */
export interface NoticeBy {
  username: string;
  address: string | null;
}

/** Notifies an operator of a change to its access, in the transaction of the change and its event. */
export async function notify(
  tx: Tx,
  platform: Platform,
  told: { operatorId: string; kind: NoticeKind; subject?: string; by: NoticeBy },
): Promise<void> {
  const { operatorId, kind, subject, by } = told;
  await insertNotice(tx, {
    id: platform.newId(),
    operator_id: operatorId,
    kind,
    subject: subject ?? null,
    actor: by.username,
    address: by.address,
    created_at: platform.now(),
    seen_at: null,
  });
  await keepNewestNotices(tx, { operatorId, kept: NOTICES_KEPT });
}

/** Like `notify`, for an operator's own act. */
export async function notifySelf(
  tx: Tx,
  platform: Platform,
  told: {
    caller: Pick<OperatorCaller, 'operatorId' | 'username' | 'address'>;
    kind: NoticeKind;
    subject?: string;
  },
): Promise<void> {
  const { caller, ...rest } = told;
  await notify(tx, platform, { ...rest, operatorId: caller.operatorId, by: caller });
}

export function noticeView(row: NoticeRow): Notice {
  return {
    id: row.id,
    kind: row.kind,
    subject: row.subject,
    at: rfc3339(row.created_at),
    actor: row.actor,
    address: row.address,
    is_new: row.seen_at === null,
  };
}
