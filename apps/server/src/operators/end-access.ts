import type { ResetEnds } from '@tidegate/protocol/operators-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { OperatorCaller } from '../platform/http/access.ts';
import type { Platform } from '../platform/platform.ts';
import { countFactors, deleteRecoveryCodes, deleteTotp } from './codes/store.ts';
import { methodsOf } from './factor-refusals.ts';
import { deleteIdentities } from './identities/store.ts';
import { type NoticeBy, notify } from './notices/notices.ts';
import { deletePasskeys } from './passkeys/store.ts';
import { forgetProofs } from './sessions/store.ts';
import { type OperatorRow, revokeOtherSessions } from './store.ts';

/** Who changes an operator; `sessionId` is the session that survives a change of one's own account. */
export type Changer = NoticeBy & Pick<OperatorCaller, 'sessionId'>;

/** Revokes the operator's API tokens in the same transaction, so that a restore keeps them revoked. */
export type EndTokens = (tx: Tx, ended: { operatorId: string; atMs: number }) => Promise<number>;

export interface AccessReset {
  operator: Pick<OperatorRow, 'id' | 'username'>;
  by: Changer;
  /** What is not ended. */
  keep: readonly ResetEnds[];
  endTokens: EndTokens;
}

/**
 * Ends every other way in beside the password: factors, passkeys, accounts of identity providers, sessions (except the
 * caller's) and API tokens. Each
 * leaves an event and a notice. Remaining sessions must prove themselves again.
 */
export async function endAccess(tx: Tx, platform: Platform, reset: AccessReset): Promise<void> {
  const { operator, by, keep, endTokens } = reset;
  const operatorId = operator.id;
  const atMs = platform.now();
  const ends = (what: ResetEnds) => !keep.includes(what);
  // Runs first: a request that makes a factor or token waits for its session's row, and then finds the session ended.
  const ofSessions = { operatorId, keptSessionId: by.sessionId };
  await forgetProofs(tx, ofSessions);
  const sessions = ends('sessions') ? await revokeOtherSessions(tx, { ...ofSessions, nowMs: atMs }) : 0;
  const totp = ends('totp') && (await deleteTotp(tx, operatorId));
  const passkeys = ends('passkeys') ? await deletePasskeys(tx, operatorId) : 0;
  const identities = ends('identities') ? await deleteIdentities(tx, operatorId) : 0;
  if (methodsOf(await countFactors(tx, operatorId)).length === 0) await deleteRecoveryCodes(tx, operatorId);
  const tokens = ends('api_tokens') ? await endTokens(tx, { operatorId, atMs }) : 0;

  if (totp || passkeys > 0) {
    await record(tx, platform, { operator, by, type: 'FACTORS_RESET', content: { totp, passkeys } });
    await notify(tx, platform, { operatorId, kind: 'factors_reset', by });
  }
  if (identities > 0) {
    await record(tx, platform, {
      operator,
      by,
      type: 'IDENTITY_CHANGED',
      content: { change: 'unbound', identities },
    });
    await notify(tx, platform, { operatorId, kind: 'identities_ended', subject: String(identities), by });
  }
  if (sessions > 0) {
    await record(tx, platform, {
      operator,
      by,
      type: 'SESSION_REVOKED',
      content: { sessions, by_reset: true },
    });
    await notify(tx, platform, { operatorId, kind: 'sessions_ended', subject: String(sessions), by });
  }
  if (tokens > 0) {
    await record(tx, platform, {
      operator,
      by,
      type: 'API_TOKEN_REVOKED',
      content: { tokens, by_reset: true },
    });
    await notify(tx, platform, { operatorId, kind: 'api_tokens_ended', subject: String(tokens), by });
  }
}

async function record(
  tx: Tx,
  platform: Platform,
  act: Pick<AccessReset, 'operator' | 'by'> & {
    type: 'FACTORS_RESET' | 'IDENTITY_CHANGED' | 'SESSION_REVOKED' | 'API_TOKEN_REVOKED';
    content: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const { operator, by, type, content } = act;
  await appendEvent(tx, platform, {
    kind: 'security',
    type,
    severity: 'warning',
    component: 'operators',
    actor: by.username,
    content: { operator_id: operator.id, username: operator.username, ...content },
  });
}
