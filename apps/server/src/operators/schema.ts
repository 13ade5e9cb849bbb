import type { LoginMethod } from '@tidegate/protocol/login-methods';
import type { NoticeKind } from '@tidegate/protocol/notices-api';
import type { SealColumn } from '../platform/db/seal.ts';
import type { Statement } from '../platform/db/statement.ts';

export const schema: readonly Statement[] = [
  `CREATE TABLE operators (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'approver', 'admin')),
    groups TEXT,
    created_at BIGINT NOT NULL,
    disabled_at BIGINT,
    seal TEXT
  )`,

  `CREATE TABLE setup_links (
    id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    seal TEXT
  )`,

  `CREATE TABLE operator_sessions (
    id TEXT PRIMARY KEY,
    operator_id TEXT NOT NULL REFERENCES operators (id),
    csrf_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    address TEXT NOT NULL,
    revoked_at BIGINT,
    method TEXT NOT NULL DEFAULT 'password',
    user_agent TEXT NOT NULL DEFAULT '',
    last_used_at BIGINT,
    second_factor_at BIGINT,
    password_at BIGINT,
    password_is_long INTEGER,
    factor_due_at BIGINT,
    seal TEXT
  )`,
  'CREATE INDEX operator_sessions_operator ON operator_sessions (operator_id)',

  // When each operator was first required to have a second factor.
  `CREATE TABLE operator_factor_demands (
    operator_id TEXT PRIMARY KEY REFERENCES operators (id) ON DELETE CASCADE,
    since BIGINT NOT NULL
  )`,

  // The secret of an authenticator app, sealed with a key outside of the database.
  `CREATE TABLE operator_totp (
    operator_id TEXT PRIMARY KEY REFERENCES operators (id) ON DELETE CASCADE,
    sealed_secret TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    confirmed_at BIGINT,
    last_step BIGINT NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    last_failed_at BIGINT,
    seal TEXT
  )`,
  `CREATE TABLE operator_recovery_codes (
    operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    code_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT,
    seal TEXT,
    PRIMARY KEY (operator_id, code_hash)
  )`,

  `CREATE TABLE operator_passkeys (
    id TEXT PRIMARY KEY,
    operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    credential_id TEXT NOT NULL UNIQUE,
    public_key TEXT NOT NULL,
    sign_count BIGINT NOT NULL,
    rp_id TEXT NOT NULL,
    transports TEXT NOT NULL,
    backed_up INTEGER NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    seal TEXT
  )`,
  'CREATE INDEX operator_passkeys_operator ON operator_passkeys (operator_id, id)',
  // One act of one operator and session (null before login); deleted on use.
  `CREATE TABLE passkey_challenges (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('login', 'second_factor', 'step_up', 'add')),
    operator_id TEXT REFERENCES operators (id) ON DELETE CASCADE,
    session_id TEXT,
    challenge TEXT NOT NULL,
    rp_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    seal TEXT
  )`,
  'CREATE INDEX passkey_challenges_operator ON passkey_challenges (operator_id)',
  'CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at)',

  // The newest changes to an operator's own access, for the account page; the events keep all of them.
  `CREATE TABLE operator_notices (
    id TEXT PRIMARY KEY,
    operator_id TEXT NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    subject TEXT,
    actor TEXT NOT NULL,
    address TEXT,
    created_at BIGINT NOT NULL,
    seen_at BIGINT
  )`,
  'CREATE INDEX operator_notices_operator ON operator_notices (operator_id, id)',
];

declare module '../platform/db/tables.ts' {
  interface Tables {
    operators: {
      id: string;
      username: string;
      password_hash: string;
      role: 'viewer' | 'approver' | 'admin';
      groups: string | null;
      created_at: number;
      disabled_at: number | null;
      seal: SealColumn;
    };
    setup_links: {
      id: string;
      secret_hash: string;
      created_at: number;
      expires_at: number;
      used_at: number | null;
      seal: SealColumn;
    };
    operator_sessions: {
      id: string;
      operator_id: string;
      csrf_hash: string;
      created_at: number;
      expires_at: number;
      address: string;
      revoked_at: number | null;
      method: LoginMethod;
      user_agent: string;
      /** Written at most once a minute; null: unused since it was opened. */
      last_used_at: number | null;
      /** When a second factor was last proven in this session. */
      second_factor_at: number | null;
      /** When the password was last proven in this session; null: it must be proven again. */
      password_at: number | null;
      /** 1: the password is long enough without a second factor; null: unknown. */
      password_is_long: number | null;
      /** From when this session can only enrol a second factor, while there is none. */
      factor_due_at: number | null;
      seal: SealColumn;
    };
    operator_factor_demands: { operator_id: string; since: number };
    operator_totp: {
      operator_id: string;
      sealed_secret: string;
      created_at: number;
      /** Null: enrolment not confirmed, no effect yet. */
      confirmed_at: number | null;
      /** The highest step that was used. */
      last_step: number;
      /** Consecutive wrong codes. */
      failures: number;
      last_failed_at: number | null;
      seal: SealColumn;
    };
    operator_recovery_codes: {
      operator_id: string;
      code_hash: string;
      created_at: number;
      used_at: number | null;
      seal: SealColumn;
    };
    operator_passkeys: {
      id: string;
      operator_id: string;
      /** Base64url, as the authenticator gave it. */
      credential_id: string;
      /** COSE key, base64url. */
      public_key: string;
      sign_count: number;
      rp_id: string;
      /** JSON list of strings. */
      transports: string;
      backed_up: number;
      name: string;
      created_at: number;
      last_used_at: number | null;
      seal: SealColumn;
    };
    passkey_challenges: {
      id: string;
      purpose: 'login' | 'second_factor' | 'step_up' | 'add';
      operator_id: string | null;
      session_id: string | null;
      challenge: string;
      rp_id: string;
      origin: string;
      created_at: number;
      expires_at: number;
      seal: SealColumn;
    };
    operator_notices: {
      id: string;
      operator_id: string;
      kind: NoticeKind;
      /** Name of the passkey, label of the token, or number of sessions. */
      subject: string | null;
      actor: string;
      /** Null: at the command line of the server. */
      address: string | null;
      created_at: number;
      seen_at: number | null;
    };
  }
}
