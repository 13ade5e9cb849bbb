import { useQuery } from '@tanstack/react-query';
import type { TagItem } from '@tidegate/protocol/tags-api';
import { listQuery } from '../api/queries.ts';

/** More than a menu can show well; the API pages on. */
const SHOWN_MAX = 200;

/** The tags of hosts that the operator may see. */
export function useTags(): readonly TagItem[] {
  const { data } = useQuery(listQuery<TagItem>('hosts', '/api/v1/tags', { limit: SHOWN_MAX }));
  return data?.items ?? [];
}

/** The tags that policies, blackouts and holds may name, beside those that are named already. */
export function useScopeTags(named: readonly string[] = []): readonly string[] {
  const set = useTags().filter(({ reported }) => !reported);
  return [...new Set([...set.map(({ tag }) => tag), ...named])];
}
