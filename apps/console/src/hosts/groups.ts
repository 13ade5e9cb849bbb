import { useQuery } from '@tanstack/react-query';
import type { GroupItem } from '@tidegate/protocol/groups-api';
import { listQuery } from '../api/queries.ts';

const SHOWN_MAX = 200;

/** The host groups that the operator may see. */
export function useGroups(): readonly GroupItem[] {
  const { data } = useQuery(listQuery<GroupItem>('hosts', '/api/v1/groups', { limit: SHOWN_MAX }));
  return data?.items ?? [];
}
