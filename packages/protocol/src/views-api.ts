import { type Static, Type } from 'typebox';
import { AgentFilter, AgentSort } from './agents-api.ts';
import { strict, Timestamp, Uuid } from './scalars.ts';
import { PackageSort, UpdateFilter, UpdateSort } from './updates-api.ts';

/** Most views that one operator keeps, shared ones included. */
export const VIEWS_MAX = 100;
/** Lists that a view may be of. */
export const VIEW_PAGES = ['updates', 'packages', 'hosts'] as const;
export const ViewPage = Type.Enum(VIEW_PAGES);
export type ViewPage = Static<typeof ViewPage>;

/** The parameters of the list that a view opens: its filter and its sort. */
export const VIEW_QUERIES = {
  updates: strict({ ...UpdateFilter.properties, sort: Type.Optional(UpdateSort) }),
  packages: strict({ ...UpdateFilter.properties, sort: Type.Optional(PackageSort) }),
  hosts: strict({ ...AgentFilter, sort: Type.Optional(AgentSort) }),
} as const;

const ViewName = Type.String({
  pattern: '^(?! )(?:[^\\p{C}\\p{Z}]| ){1,64}(?<! )$',
  minLength: 1,
  maxLength: 64,
  description: 'visible characters, with spaces between them',
});

/** A filter under a name; `query` is that of the page, and is refused where it is not. */
export const NewView = strict({
  name: ViewName,
  page: ViewPage,
  query: Type.Record(
    Type.String({ maxLength: 32 }),
    Type.Union([Type.String({ maxLength: 253 }), Type.Boolean()]),
    {
      maxProperties: 32,
    },
  ),
  /** Whether all operators see it; only an admin may share. */
  shared: Type.Optional(Type.Boolean()),
});
export type NewView = Static<typeof NewView>;

export const SavedView = strict({
  id: Uuid,
  name: ViewName,
  page: ViewPage,
  query: Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()])),
  shared: Type.Boolean(),
  /** Whether it is the caller's own. */
  own: Type.Boolean(),
  created_by: Type.String(),
  created_at: Timestamp,
});
export type SavedView = Static<typeof SavedView>;
