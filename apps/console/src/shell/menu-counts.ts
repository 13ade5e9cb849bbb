import { useQuery } from '@tanstack/react-query';
import type { Overview } from '@tidegate/protocol/overview-api';
import { oneQuery } from '../api/queries.ts';

/** A number beside an entry of the menu, and what it counts. */
export interface MenuCount {
  readonly count: number;
  readonly of: string;
}

/** The counts of the menu by path, from the counts of the overview; zeros are left out. */
export function useMenuCounts(): ReadonlyMap<string, MenuCount> {
  const { data } = useQuery(oneQuery<Overview>('overview', '/api/v1/overview'));
  return menuCounts(data);
}

export function menuCounts(
  overview:
    | {
        readonly needs_me: Pick<
          Overview['needs_me'],
          'waiting' | 'divergences_open' | 'approvals_undelivered'
        >;
        readonly totals: Pick<Overview['totals'], 'hosts'>;
      }
    | undefined,
): ReadonlyMap<string, MenuCount> {
  if (!overview) return new Map();
  const { needs_me, totals } = overview;
  const { clear, vulnerable, unchecked, not_judged } = needs_me.waiting;
  const waiting = clear.count + vulnerable.count + unchecked.count + not_judged.count;
  const counts: readonly (readonly [string, number, string])[] = [
    ['/updates', waiting, 'waiting for approval'],
    ['/divergences', needs_me.divergences_open?.count ?? 0, 'open'],
    ['/hosts', totals.hosts.count, 'hosts'],
    ['/commands', needs_me.approvals_undelivered.count, 'not delivered yet'],
  ];
  return new Map(counts.flatMap(([to, count, of]) => (count > 0 ? [[to, { count, of }] as const] : [])));
}
