import { GroupList } from '@tidegate/protocol/operators-api';
import { Value } from 'typebox/value';
import type { GroupScope } from '../platform/db/group-scope.ts';

/** Reads the column `groups`; throws on anything else, so that nobody sees more than intended. */
export function readGroups(column: string | null): GroupScope {
  return column === null ? null : Value.Parse(GroupList, JSON.parse(column));
}

/** Sorted and deduplicated, so that equal groups are equal text. */
export function writeGroups(groups: GroupScope): string | null {
  return groups === null ? null : JSON.stringify([...new Set(groups)].sort());
}
