import {
  type CreateRegistrationToken,
  REGISTRATION_TOKEN_DEFAULT_MS,
  REGISTRATION_TOKEN_MAX_MS,
} from '@tidegate/protocol/enrolment-api';
import { tagsFault } from '../agents/tag-rules.ts';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { GroupScope } from '../platform/db/group-scope.ts';
import type { Platform } from '../platform/platform.ts';
import { hashRegistrationSecret, makeRegistrationSecret } from './registration-secrets.ts';
import {
  findRegistrationToken,
  insertRegistrationToken,
  markTokenDeleted,
  type RegistrationTokenRow,
} from './store.ts';
import { tagsOfToken } from './token-view.ts';

export type CreateOutcome =
  | { ok: true; row: RegistrationTokenRow; secret: string }
  | { ok: false; path: string; message: string };

/** Creates a registration token; its secret is only in this answer. */
export async function createRegistrationToken(
  platform: Platform,
  { request, actor }: { request: CreateRegistrationToken; actor: string },
): Promise<CreateOutcome> {
  const fault = tagsFault(request.tags ?? []);
  if (fault !== null) return { ok: false, path: '/tags', message: fault };
  const nowMs = platform.now();
  const expiresAtMs =
    request.expires_at === undefined ? nowMs + REGISTRATION_TOKEN_DEFAULT_MS : Date.parse(request.expires_at);
  // Also refuses invalid times (2026-02-31): NaN fails both comparisons.
  if (!(expiresAtMs > nowMs && expiresAtMs <= nowMs + REGISTRATION_TOKEN_MAX_MS)) {
    return { ok: false, path: '/expires_at', message: 'must be in the future and at most 90 days away' };
  }
  const secret = makeRegistrationSecret(platform.random);
  const secretHash = hashRegistrationSecret(secret);
  if (secretHash === null) throw new Error('a new registration token has the wrong form');
  const wanted = {
    id: platform.newId(),
    label: request.label,
    secret_hash: secretHash,
    seats: request.seats ?? 1,
    seats_used: 0,
    group_name: request.group ?? null,
    tags: JSON.stringify(request.tags ?? []),
    created_by: actor,
    created_at: nowMs,
    expires_at: expiresAtMs,
    deleted_at: null,
  };
  const row = await platform.database.transact(async (tx) => {
    const made = await insertRegistrationToken(tx, wanted);
    await recordChange(tx, platform, { change: 'created', row: made, actor });
    return made;
  });
  return { ok: true, row, secret };
}

/** Ends enrolments with the token; enrolled hosts stay. False if the token is missing or already deleted. */
export async function withdrawRegistrationToken(
  platform: Platform,
  { id, scope, actor }: { id: string; scope: GroupScope; actor: string },
): Promise<boolean> {
  return platform.database.transact(async (tx) => {
    const row = await findRegistrationToken(tx, { id, scope });
    if (!row || !(await markTokenDeleted(tx, { id, atMs: platform.now() }))) return false;
    await recordChange(tx, platform, { change: 'withdrawn', row, actor });
    return true;
  });
}

async function recordChange(
  tx: Tx,
  platform: Platform,
  act: { change: 'created' | 'withdrawn'; row: RegistrationTokenRow; actor: string },
): Promise<void> {
  const { id, label, seats, seats_used, group_name, tags, expires_at } = act.row;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'REGISTRATION_TOKEN_CHANGED',
    severity: 'info',
    component: 'enrolment',
    actor: act.actor,
    content: {
      ...{ change: act.change, id, label, seats, seats_used },
      ...{ group: group_name, tags: tagsOfToken({ tags }), expires_at: rfc3339(expires_at) },
    },
  });
}
