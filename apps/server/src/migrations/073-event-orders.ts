import type { Migration } from '../platform/db/migrate.ts';

export const migration: Migration = {
  version: 73,
  name: 'event-orders',
  statements: [
    // Who acts are few, and so are the components: a search goes through them and not through the events.
    'CREATE INDEX events_by_actor ON events (actor, position)',
    'CREATE INDEX events_by_component ON events (component, position)',
    // Nearly all events say that all is well.
    "CREATE INDEX events_by_severity ON events (severity, position) WHERE severity <> 'info'",
  ],
};
