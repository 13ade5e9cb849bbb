import type { Session } from '@tidegate/protocol/sessions-api';
import { appendEvent } from '../../events/append-event.ts';
import { rfc3339 } from '../../platform/clock.ts';
import type { Tx } from '../../platform/db/engine.ts';
import type { OperatorCaller } from '../../platform/http/access.ts';
import { noSuch, Refusal } from '../../platform/http/refusal.ts';
import type { Platform } from '../../platform/platform.ts';
import { notify, notifySelf } from '../notices/notices.ts';
import { findOperator, revokeOtherSessions, type SessionRow } from '../store.ts';
import { endSession, operatorsLoggedIn } from './store.ts';

/** Admins of the whole fleet may see the sessions of others, and end them. */
export function maySeeOthers({ role, groups }: OperatorCaller): boolean {
  return role === 'admin' && groups === null;
}

/** Ends one session. Another operator's session does not exist for a caller who may not see it. */
export async function endOneSession(
  platform: Platform,
  { caller, id }: { caller: OperatorCaller; id: string },
): Promise<void> {
  const operatorId = maySeeOthers(caller) ? null : caller.operatorId;
  await platform.database.transact(async (tx) => {
    const ended = await endSession(tx, { id, operatorId, nowMs: platform.now() });
    if (!ended) throw new Refusal('not_found', { detail: 'There is no such session.' });
    const username = (await findOperator(tx, ended.operator_id))?.username;
    const content = { operator_id: ended.operator_id, username, sessions: 1, session_id: ended.id };
    await recordEnd(tx, platform, { caller, content });
    const told = { operatorId: ended.operator_id, kind: 'sessions_ended', subject: '1', by: caller } as const;
    await notify(tx, platform, told);
  });
}

/** Ends all of one's own sessions except the caller's. */
export async function endOtherSessions(platform: Platform, caller: OperatorCaller): Promise<void> {
  const { operatorId, sessionId } = caller;
  await platform.database.transact(async (tx) => {
    const of = { operatorId, keptSessionId: sessionId, nowMs: platform.now() };
    const sessions = await revokeOtherSessions(tx, of);
    const content = {
      operator_id: operatorId,
      username: caller.username,
      sessions,
      kept_session_id: sessionId,
    };
    await recordEnd(tx, platform, { caller, content });
    if (sessions > 0)
      await notifySelf(tx, platform, { caller, kind: 'sessions_ended', subject: String(sessions) });
  });
}

/** Ends all sessions of an operator, except the caller's own; API tokens stay. Throws a Refusal where there is none. */
export async function endSessionsOf(
  platform: Platform,
  { caller, operatorId }: { caller: OperatorCaller; operatorId: string },
): Promise<void> {
  await platform.database.transact(async (tx) => {
    const operator = await findOperator(tx, operatorId);
    if (!operator) throw noSuch('operator');
    await endAllOf(tx, platform, { caller, operator });
  });
}

/** Ends every session of every operator, except the caller's own. */
export async function endEverySession(platform: Platform, caller: OperatorCaller): Promise<void> {
  await platform.database.transact(async (tx) => {
    for (const id of await operatorsLoggedIn(tx, platform.now())) {
      const username = (await findOperator(tx, id))?.username ?? id;
      await endAllOf(tx, platform, { caller, operator: { id, username } });
    }
  });
}

async function endAllOf(
  tx: Tx,
  platform: Platform,
  { caller, operator }: { caller: OperatorCaller; operator: { id: string; username: string } },
): Promise<void> {
  const of = { operatorId: operator.id, keptSessionId: caller.sessionId };
  const sessions = await revokeOtherSessions(tx, { ...of, nowMs: platform.now() });
  if (sessions === 0) return;
  const content = { operator_id: operator.id, username: operator.username, sessions };
  await recordEnd(tx, platform, { caller, content });
  const told = { operatorId: operator.id, kind: 'sessions_ended', subject: String(sessions) } as const;
  await notify(tx, platform, { ...told, by: caller });
}

export function sessionView(row: SessionRow, currentId: string): Session {
  return {
    id: row.id,
    created_at: rfc3339(row.created_at),
    last_used_at: rfc3339(row.last_used_at ?? row.created_at),
    expires_at: rfc3339(row.expires_at),
    address: row.address,
    user_agent: row.user_agent,
    method: row.method,
    is_current: row.id === currentId,
  };
}

async function recordEnd(
  tx: Tx,
  platform: Platform,
  { caller, content }: { caller: OperatorCaller; content: Readonly<Record<string, unknown>> },
): Promise<void> {
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'SESSION_REVOKED',
    severity: 'info',
    component: 'operators',
    actor: caller.username,
    content,
  });
}
