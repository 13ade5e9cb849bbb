import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { Seal } from './seal.ts';
import type { Tables } from './tables.ts';

/**
 * The tables whose rows give rights, with the columns that a seal covers: the key and every column that the
 * right depends on. Columns that change without giving a right (when it was last used) are not covered. Columns
 * that end a right (`revoked_at`, `deleted_at`) are not either: the server also removes the seal, so clearing
 * the column is not enough.
 */
export const SEALED_COLUMNS = {
  operators: ['id', 'username', 'password_hash', 'role', 'groups', 'created_at', 'disabled_at'],
  operator_sessions: [
    ...[
      'id',
      'operator_id',
      'csrf_hash',
      'created_at',
      'expires_at',
      'method',
      'second_factor_at',
      'password_at',
      'password_is_long',
      'factor_due_at',
    ],
  ] as const,
  operator_totp: ['operator_id', 'sealed_secret', 'created_at', 'confirmed_at'],
  operator_recovery_codes: ['operator_id', 'code_hash', 'created_at'],
  operator_passkeys: ['id', 'operator_id', 'credential_id', 'public_key', 'rp_id', 'created_at'],
  passkey_challenges: [
    ...[
      'id',
      'purpose',
      'operator_id',
      'session_id',
      'challenge',
      'rp_id',
      'origin',
      'created_at',
      'expires_at',
    ],
  ] as const,
  identity_providers: [
    ...['id', 'name', 'issuer', 'client_id', 'sealed_secret', 'client_auth', 'scopes', 'group_claim'],
    ...['username_claim', 'mapping', 'default_grant', 'creates_operators', 'factor_values', 'acr_values'],
    ...['enabled', 'created_by', 'created_at', 'changed_at'],
  ] as const,
  operator_identities: [
    ...['id', 'operator_id', 'provider_id', 'issuer', 'subject', 'created_by', 'created_at', 'lost_at'],
  ] as const,
  provider_sessions: [
    ...['session_id', 'operator_id', 'provider_id', 'issuer', 'subject', 'provider_sid', 'sealed_id_token'],
  ] as const,
  setup_links: ['id', 'secret_hash', 'created_at', 'expires_at'],
  api_tokens: [
    ...['id', 'operator_id', 'label', 'secret_hash', 'role', 'groups', 'scopes', 'created_by', 'created_at'],
    'expires_at',
  ] as const,
  registration_tokens: [
    ...['id', 'label', 'secret_hash', 'seats', 'seats_used', 'group_name', 'created_by', 'created_at'],
    ...['expires_at', 'tags'],
  ] as const,
  fleet_lock_tokens: ['id', 'group_name', 'secret_hash', 'created_by', 'created_at'],
  host_tags: ['agent_id', 'key', 'value', 'set_by', 'set_at'],
  age_exceptions: [
    ...['id', 'ecosystem', 'name', 'version', 'reason', 'created_by', 'created_at', 'expires_at'],
  ] as const,
  gate_settings: ['id', 'value', 'changed_by', 'changed_at'],
  vex_statements: [
    ...[
      'id',
      'sha256',
      'envelope',
      'vulnerability',
      'ecosystem',
      'name',
      'distribution',
      'versions',
      'scope',
    ],
    ...['status', 'justification', 'text', 'imported', 'created_by', 'created_at', 'ends_at'],
  ] as const,
  origins: [
    ...['id', 'sha256', 'envelope', 'ecosystem', 'signing_key', 'suites', 'rule', 'min_age_days', 'reason'],
    ...['created_by', 'created_at', 'ends_at'],
  ] as const,
  policies: [
    ...['sha256', 'policy_id', 'version', 'name', 'document', 'envelope', 'author_id', 'author'],
    ...['created_at', 'ends_at'],
  ] as const,
  artifact_decisions: [
    ...['id', 'divergence_id', 'kind', 'accepted', 'refused', 'reason', 'actor', 'decided_at'],
  ] as const,
  resyncs: ['id', 'opened_at', 'closes_at', 'reason', 'opened_by'],
  agent_commands: [
    ...['id', 'agent_id', 'action', 'params', 'approval_id', 'approval_sha256', 'created_by'],
    ...['created_at', 'not_before', 'expires_at'],
  ] as const,
  rollbacks: ['update_id', 'token_id', 'actions'],
  host_reboots: [
    ...['id', 'agent_id', 'kind', 'boot_id', 'units', 'warn_minutes', 'reason', 'asked_by', 'asked_at'],
    'deadline_at',
  ] as const,
  awaited_updates: [
    ...['update_id', 'set_sha256', 'asked_by', 'asked_at', 'round', 'policy_id', 'policy_sha256'],
    'bulk_id',
  ] as const,
} as const satisfies { readonly [T in keyof Tables]?: readonly (keyof Tables[T])[] };

export type SealedTable = keyof typeof SEALED_COLUMNS;
/** The columns of a row that its seal covers. */
export type Covered<T extends SealedTable> = Pick<
  Selectable<Tables[T]>,
  Extract<(typeof SEALED_COLUMNS)[T][number], keyof Selectable<Tables[T]>>
>;

/** A row without a seal, or with one that does not fit its content. */
export interface BrokenSeal {
  readonly table: SealedTable;
  /** The value of its first column, shortened. */
  readonly row: string;
  readonly reason: 'missing' | 'wrong';
}

export interface RowSeals {
  seal<T extends SealedTable>(table: T, row: Covered<T>): Seal;
  /** The same for a row of unknown columns; throws if a covered column is missing. */
  sealRow(table: SealedTable, row: object): Seal;
  holdsRow(table: SealedTable, row: { readonly seal: string | null }): boolean;
  holds<T extends SealedTable>(table: T, row: Covered<T> & { readonly seal: string | null }): boolean;
  /** Sets the one listener for broken seals; it must not throw. */
  onBroken(listener: (broken: BrokenSeal) => void): void;
  report(broken: BrokenSeal): void;
}

/** Reads the key when the first seal is made or checked. */
export function createRowSeals(key: () => Buffer): RowSeals {
  let listener: (broken: BrokenSeal) => void = () => {};
  let known: Buffer | null = null;
  function sealRow(table: SealedTable, row: object): Seal {
    known ??= key();
    const mac = createHmac('sha256', known).update(encode(table, row)).digest('base64url');
    if (!isSeal(mac)) throw new Error('a new seal has the wrong form');
    return mac;
  }
  function holdsRow(table: SealedTable, row: { readonly seal: string | null }): boolean {
    if (row.seal === null) return false;
    const [given, due] = [Buffer.from(row.seal), Buffer.from(sealRow(table, row))];
    return given.length === due.length && timingSafeEqual(given, due);
  }
  return {
    ...{ seal: sealRow, sealRow, holds: holdsRow, holdsRow },
    onBroken(next) {
      listener = next;
    },
    report: (broken) => listener(broken),
  };
}

/** Columns that came after rows had been sealed: such a row has null in them, and keeps its seal. */
const ADDED: Readonly<Partial<Record<SealedTable, readonly string[]>>> = { awaited_updates: ['bulk_id'] };

/**
 * A JSON array (RFC 8259): values are quoted and in a fixed order, and columns that were added stand last, so no two
 * contents have the same text.
 */
function encode(table: SealedTable, row: object): string {
  const values = SEALED_COLUMNS[table].flatMap((column) => {
    const value: unknown = Reflect.get(row, column);
    if (value === null && ADDED[table]?.includes(column)) return [];
    if (value === null || typeof value === 'string' || Number.isSafeInteger(value)) return value;
    throw new Error(`the seal of ${table} covers ${column}, which the row does not have`);
  });
  return JSON.stringify(['tidegate row 1', table, values]);
}

function isSeal(text: string): text is Seal {
  return /^[\w-]{43}$/.test(text);
}

/** Characters of a broken row's name that are reported: the name is unchecked. */
const NAME_MAX_CHARS = 64;

/** The first column names the row. Recovery codes are named by their operator, which keeps the hash out of logs. */
export function nameOf(table: SealedTable, row: object): string {
  return String(Reflect.get(row, SEALED_COLUMNS[table][0])).slice(0, NAME_MAX_CHARS);
}
