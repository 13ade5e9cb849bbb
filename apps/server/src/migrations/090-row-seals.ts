import type { Migration } from '../platform/db/migrate.ts';

/** Tables whose rows give rights. */
const TABLES = [
  ...['operators', 'operator_sessions', 'operator_totp', 'operator_recovery_codes', 'operator_passkeys'],
  ...['passkey_challenges', 'setup_links', 'api_tokens', 'registration_tokens', 'age_exceptions'],
  ...['resyncs', 'agent_commands', 'artifact_decisions'],
];

export const migration: Migration = {
  version: 90,
  name: 'row-seals',
  // Null in rows from before, which the first start on them seals (platform/db/seal-rows.ts).
  statements: TABLES.map((table) => `ALTER TABLE ${table} ADD COLUMN seal TEXT`),
};
