import { GroupList } from '@tidegate/protocol/operators-api';
import { Value } from 'typebox/value';
import type { GroupScope } from '../platform/db/group-scope.ts';

/** The column `groups`; throws where it holds anything else, so that nobody sees more than was meant. */
export function readGroups(column: string | null): GroupScope {
  return column === null ? null : Value.Parse(GroupList, JSON.parse(column));
}

/** Sorted and each once, so that the same groups are the same text. */
export function writeGroups(groups: GroupScope): string | null {
  return groups === null ? null : JSON.stringify([...new Set(groups)].sort());
}
