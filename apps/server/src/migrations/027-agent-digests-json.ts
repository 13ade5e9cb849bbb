import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 27,
  name: 'agent-digests-json',
  statements: [
    // The text that an agent without news writes in its check-in: compared as it stands, never parsed on the hot path.
    `UPDATE agents SET inventory_digests = CASE inventory_digests WHEN '' THEN '{}'
      ELSE '{"' || replace(replace(inventory_digests, '=', '":"'), ',', '","') || '"}' END`,
  ],
};
