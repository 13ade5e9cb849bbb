import { createHash } from 'node:crypto';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { demandSoundPassword } from './passwords/common-passwords.ts';
import type { Passwords } from './passwords/passwords.ts';
import {
  countOperators,
  insertOperator,
  insertSetupLink,
  isSetupLinkOpen,
  type OperatorRow,
  useSetupLinks,
} from './store.ts';

const LINK_LIFETIME_MS = 3_600_000;
const SECRET_BYTES = 16;

export type FirstOperator =
  | { kind: 'exists' }
  | { kind: 'created'; username: string }
  /** Path of the one-time set-up page; it contains a secret, so it may be printed only to the terminal. */
  | { kind: 'link'; path: string };

/**
 * At start: makes the operator named in the environment, or else a link that makes one. Does nothing once an operator
 * exists.
 */
export async function prepareFirstOperator(
  platform: Platform,
  {
    passwords,
    configured,
  }: { passwords: Passwords; configured: { username: string; password: string } | null },
): Promise<FirstOperator> {
  const { database } = platform;
  if ((await countOperators(database.read)) > 0) return { kind: 'exists' };
  if (configured) {
    const passwordHash = await passwords.hash(configured.password);
    const created = await database.transact(async (tx) => {
      if ((await countOperators(tx)) > 0) return null;
      return createAdmin(tx, platform, { username: configured.username, passwordHash, actor: 'environment' });
    });
    return created ? { kind: 'created', username: created.username } : { kind: 'exists' };
  }
  return { kind: 'link', path: await database.transact((tx) => addSetupLink(tx, platform)) };
}

/** One more link, after the first one expired. Null once an operator exists: then links are dead. */
export async function makeSetupLink(
  platform: Platform,
  { actor }: { actor: string },
): Promise<string | null> {
  return platform.database.transact(async (tx) => {
    if ((await countOperators(tx)) > 0) return null;
    const path = await addSetupLink(tx, platform);
    await appendEvent(tx, platform, {
      kind: 'security',
      type: 'OPERATOR_CHANGED',
      severity: 'warning',
      component: 'operators',
      actor,
      content: { change: 'setup_link_made' },
    });
    return path;
  });
}

async function addSetupLink(tx: Tx, platform: Platform): Promise<string> {
  const secret = platform.random(SECRET_BYTES).toString('base64url');
  const now = platform.now();
  await insertSetupLink(tx, {
    id: platform.newId(),
    secret_hash: hashOf(secret),
    created_at: now,
    expires_at: now + LINK_LIFETIME_MS,
    used_at: null,
  });
  return `/setup/${secret}`;
}

/** The page exists only for an open link on a server without operators. */
export async function isSetupOpen(platform: Platform, secret: string): Promise<boolean> {
  const { read } = platform.database;
  if ((await countOperators(read)) > 0) return false;
  return isSetupLinkOpen(read, { secretHash: hashOf(secret), nowMs: platform.now() });
}

/** Uses the link up and makes the first operator, an admin. Refuses with `not_found` when the link is not open. */
export async function setUpFirstOperator(
  platform: Platform,
  passwords: Passwords,
  { secret, username, password }: { secret: string; username: string; password: string },
): Promise<OperatorRow> {
  // Before hashing, so that a dead link costs nothing.
  if (!(await isSetupOpen(platform, secret))) throw notFound();
  demandSoundPassword({ password, username, hasSecondFactor: false }, '/password');
  const passwordHash = await passwords.hash(password);
  return platform.database.transact(async (tx) => {
    const isOpen = await useSetupLinks(tx, { secretHash: hashOf(secret), nowMs: platform.now() });
    if (!isOpen || (await countOperators(tx)) > 0) throw notFound();
    const created = await createAdmin(tx, platform, { username, passwordHash, actor: 'setup link' });
    if (!created) throw notFound();
    return created;
  });
}

async function createAdmin(
  tx: Tx,
  platform: Platform,
  admin: { username: string; passwordHash: string; actor: string },
): Promise<OperatorRow | null> {
  const row = await insertOperator(tx, {
    id: platform.newId(),
    username: admin.username.toLowerCase(),
    password_hash: admin.passwordHash,
    role: 'admin',
    groups: null,
    created_at: platform.now(),
    disabled_at: null,
  });
  if (!row) return null;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'OPERATOR_CHANGED',
    severity: 'warning',
    component: 'operators',
    actor: admin.actor,
    content: { change: 'created', operator_id: row.id, username: row.username, role: row.role },
  });
  return row;
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function notFound(): Refusal {
  return new Refusal('not_found', { detail: 'There is nothing at this path.' });
}
