import { queryOptions } from '@tanstack/react-query';
import type { PublicKeysAnswer } from '@tidegate/protocol/documents';
import { get } from '../api/client.ts';
import { readKeySet } from './key-set-rules.ts';

/** The key set in force, with the root documents (E8). */
export const keySetQuery = queryOptions({
  queryKey: ['keys', '/api/v1/public-keys'],
  queryFn: async ({ signal }) =>
    readKeySet(
      await get<PublicKeysAnswer>('/api/v1/public-keys', { query: { since: 0, root_since: 0 }, signal }),
    ),
});
