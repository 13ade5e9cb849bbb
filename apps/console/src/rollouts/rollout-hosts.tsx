import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { RolloutDetail, RolloutHost } from '@tidegate/protocol/rollouts-api';
import { useMemo } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import type { Column } from '../ui/data-table.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { None } from '../ui/none.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { pollMs } from './poll.ts';
import { OutcomeBadge } from './rollout-badges.tsx';
import { OUTCOME_KEYS, OUTCOMES, ROLLOUTS } from './rollout-rules.ts';

const FILTERS = ['ring', 'outcome'] as const;
const WORDS = Object.fromEntries(OUTCOME_KEYS.map((key) => [key, OUTCOMES[key].word]));

/** The hosts of a rollout, by ring and outcome. */
export function RolloutHosts({ rollout }: { rollout: RolloutDetail }) {
  const { id, lanes } = rollout;
  const list = useListSearch(FILTERS);
  const { filter, setFilter } = list;
  const query = useQuery({
    ...listQuery<RolloutHost>('updates', `${ROLLOUTS}/${id}/hosts`, list.query),
    refetchInterval: () => pollMs([rollout]),
  });
  const names = lanes.map(({ name }) => name).join('\n');
  const columns = useMemo(() => columnsOf(names.split('\n')), [names]);
  return (
    <section aria-labelledby="hosts" className="space-y-2">
      <h2 id="hosts" className="scroll-mt-16 font-semibold">
        Hosts
      </h2>
      <ListTable
        list={list}
        query={query}
        noun="hosts"
        toolbar={
          <>
            <FilterSelect
              label="Ring"
              value={filter.ring}
              choices={Object.fromEntries(
                lanes.map(({ ring, name }) => [`${ring}`, `${ring + 1}. ${isolated(name)}`]),
              )}
              onChoose={(ring) => setFilter({ ring })}
            />
            <FilterSelect
              label="Outcome"
              value={filter.outcome}
              choices={WORDS}
              onChoose={(outcome) => setFilter({ outcome })}
            />
          </>
        }
        empty={<EmptyState title="No host is in this rollout" />}
        label="Hosts of this rollout"
        columns={columns}
        rowId={({ agent_id: host }) => host}
      />
    </section>
  );
}

function columnsOf(rings: readonly string[]): readonly Column<RolloutHost>[] {
  return [
    {
      id: 'host',
      header: 'Host',
      cell: ({ agent_id: id, hostname }) => (
        <Link to="/hosts/$id" params={{ id }} className="font-medium break-words">
          {hostname}
        </Link>
      ),
    },
    {
      id: 'outcome',
      header: 'Outcome',
      part: 'pinned',
      cell: ({ outcome, excused }) => (
        <>
          <OutcomeBadge outcome={outcome} />
          {excused && ' excused'}
        </>
      ),
    },
    {
      id: 'ring',
      header: 'Ring',
      folds: true,
      cell: ({ ring, late }) => `${ring + 1}. ${rings[ring] ?? ''}${late ? ', joined later' : ''}`,
    },
    {
      id: 'reason',
      header: 'Why',
      wide: true,
      wraps: true,
      cell: ({ reason, outcome }) => {
        const text = reason ?? OUTCOMES[outcome].means;
        return <span title={text}>{text}</span>;
      },
    },
    {
      id: 'delivered',
      header: 'Delivered',
      cell: ({ delivered_at: at }) => (at === null ? <None word="not yet" /> : <Time at={at} />),
    },
    {
      id: 'settled',
      header: 'Settled',
      cell: ({ settled_at: at }) => (at === null ? <None word="not yet" /> : <Time at={at} />),
    },
  ];
}
