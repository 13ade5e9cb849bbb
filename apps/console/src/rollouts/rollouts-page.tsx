import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { PolicyItem } from '@tidegate/protocol/policies-api';
import type { RolloutItem } from '@tidegate/protocol/rollouts-api';
import { useListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { Term } from '../glossary/term.tsx';
import { POLICIES } from '../policies/policy-rules.ts';
import type { Column } from '../ui/data-table.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { pollMs } from './poll.ts';
import { RolloutBadges } from './rollout-badges.tsx';
import { outcomesText, placeText, ROLLOUTS, STATES } from './rollout-rules.ts';

const FILTERS = ['policy', 'state'] as const;
/** As many as can be in force at one time. */
const POLICIES_SHOWN = 200;

/** Rollouts: waves of versions through the rings of policies, running and ended. */
export function RolloutsPage() {
  const list = useListSearch(FILTERS);
  const navigate = useNavigate();
  const query = useQuery({
    ...listQuery<RolloutItem>('updates', ROLLOUTS, list.query),
    refetchInterval: ({ state }) => pollMs(state.data?.items ?? []),
  });
  const policies = useQuery(listQuery<PolicyItem>('updates', POLICIES, { limit: POLICIES_SHOWN }));
  const { filter, setFilter } = list;
  const named = (policies.data?.items ?? []).map(({ id, name }): [string, string] => [id, name]);
  // A policy that ended long ago is not in that list, but a link may name it.
  const chosen: [string, string][] = filter.policy ? [[filter.policy, filter.policy]] : [];
  return (
    <Page
      title="Rollouts"
      lead={
        <>
          A policy with <Term of="ring">rings</Term> gives versions to some hosts first. How they fare decides
          when the next ones get them.
        </>
      }
    >
      <ListTable
        list={list}
        query={query}
        noun="rollouts"
        toolbar={
          <>
            <FilterSelect
              label="Policy"
              value={filter.policy}
              choices={Object.fromEntries([...chosen, ...named])}
              onChoose={(policy) => setFilter({ policy })}
            />
            <FilterSelect
              label="State"
              value={filter.state}
              choices={STATES}
              onChoose={(state) => setFilter({ state })}
            />
          </>
        }
        empty={
          <EmptyState title="No rollouts" action={<Link to="/policies">See the policies</Link>}>
            A rollout begins when a policy with rings finds updates. Give a policy rings, so that a bad update
            reaches a few hosts only.
          </EmptyState>
        }
        label="Rollouts"
        columns={COLUMNS}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/rollouts/$id', params: { id } })}
      />
    </Page>
  );
}

const COLUMNS: readonly Column<RolloutItem>[] = [
  {
    id: 'policy',
    header: 'Policy',
    cell: ({ id, policy_name: name }) => (
      <Link
        to="/rollouts/$id"
        params={{ id }}
        title={name}
        className="inline-block max-w-56 truncate align-bottom font-medium"
      >
        {name}
      </Link>
    ),
  },
  { id: 'state', header: 'State', part: 'pinned', cell: (rollout) => <RolloutBadges rollout={rollout} /> },
  { id: 'ring', header: 'Ring', folds: true, cell: placeText },
  {
    id: 'waits_for',
    header: 'Progress',
    wide: true,
    wraps: true,
    cell: ({ waits_for: text }) => <span title={text}>{text}</span>,
  },
  { id: 'outcomes', header: 'Hosts', wraps: true, cell: ({ outcomes }) => outcomesText(outcomes) },
  {
    id: 'packages',
    header: 'Packages',
    align: 'right',
    cell: ({ packages }) => packages.toLocaleString('en'),
  },
  { id: 'started_at', header: 'Began', cell: ({ started_at: at }) => <Time at={at} /> },
];
