import { Type } from 'typebox';
import { SEVERITIES } from './event-types.ts';
import { sortBy } from './lists-api.ts';
import { Timestamp, Uuid } from './scalars.ts';

/** Filters of the list of events (E9); query values are text. */
export const EventFilter = {
  kind: Type.Optional(Type.Enum(['security', 'system'])),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  about: Type.Optional(
    Type.Enum(['administration'], {
      description: 'changes of people, access and settings',
    }),
  ),
  severity: Type.Optional(Type.Enum(SEVERITIES)),
  component: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  agent_id: Type.Optional(Uuid),
  q: Type.Optional(
    Type.String({ pattern: '^[^\\x00-\\x1f\\x7f]{1,128}$', description: 'part of the type or of the actor' }),
  ),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
};

export const EVENT_SORTS = ['created_at'] as const;
export const EVENT_SORT_DEFAULT = '-created_at';
export const EventSort = sortBy(EVENT_SORTS, 'default -created_at, newest first');
