import type { RegistrationTokenItem } from '@tidegate/protocol/enrolment-api';
import { OperatorTags } from '@tidegate/protocol/tags-api';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { RegistrationTokenRow } from './store.ts';

/** The public members of a registration token: never the hash of its secret. */
export function tokenView(row: RegistrationTokenRow): RegistrationTokenItem {
  return {
    id: row.id,
    label: row.label,
    seats: row.seats,
    seats_used: row.seats_used,
    group: row.group_name,
    tags: tagsOfToken(row),
    created_by: row.created_by,
    created_at: rfc3339(row.created_at),
    expires_at: rfc3339(row.expires_at),
  };
}

/** The tags of hosts that enrol with a token for the first time. */
export function tagsOfToken({ tags }: Pick<RegistrationTokenRow, 'tags'>): string[] {
  return Value.Parse(OperatorTags, JSON.parse(tags));
}
