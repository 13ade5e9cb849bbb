import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { exploitedListText } from '@tidegate/protocol/exploited-words';
import {
  VULNERABILITY_SORT_DEFAULT,
  type VulnerabilityCoverage,
  type VulnerabilityItem,
} from '@tidegate/protocol/vulnerabilities-api';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, oneQuery } from '../api/queries.ts';
import { Term } from '../glossary/term.tsx';
import { SeverityBadge } from '../ui/badge.tsx';
import { CoverageNote } from '../ui/coverage-note.tsx';
import type { Column } from '../ui/data-table.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { EXPLOITED_WORDS } from '../unfixed/unfixed-rules.ts';
import { Exploitation } from '../updates/update-columns.tsx';
import { FIX_WORDS, unknownText, VULNERABILITIES } from './vulnerability-rules.ts';

const FILTERS = ['q', 'cve', 'severity', 'exploited', 'fix'] as const;
const SEVERITIES = { critical: 'critical', high: 'high', medium: 'medium', low: 'low', unknown: 'unknown' };

/** Known vulnerabilities of what hosts have installed, the most urgent first. */
export function VulnerabilitiesPage() {
  const list = useListSearch(FILTERS);
  const navigate = useNavigate();
  const query = useQuery(listQuery<VulnerabilityItem>('advisories', VULNERABILITIES, list.query));
  const { data: coverage } = useQuery(
    oneQuery<VulnerabilityCoverage>('advisories', `${VULNERABILITIES}/coverage`),
  );
  const unknown = coverage ? unknownText(coverage) : null;
  const { filter, setFilter } = list;
  return (
    <Page
      title="Vulnerabilities"
      lead={
        <>
          Known vulnerabilities in installed packages, the most urgent first: those that are{' '}
          <Term of="kev">exploited</Term>, then the <Term of="epss">likely</Term> and the severe ones.
        </>
      }
    >
      {coverage && coverage.hosts > 0 && (
        <CoverageNote at={coverage.at}>
          {unknown ?? 'All installed packages were checked.'} {exploitedListText(coverage.exploited_list)}
        </CoverageNote>
      )}
      <ListTable
        list={list}
        query={query}
        noun="vulnerabilities"
        order={VULNERABILITY_SORT_DEFAULT}
        toolbar={
          <>
            <SearchBox
              label="Id, summary or package"
              value={filter.q ?? ''}
              onSearch={(text) => setFilter({ q: text || undefined })}
            />
            <FilterSelect
              label="Severity"
              value={filter.severity}
              choices={SEVERITIES}
              onChoose={(severity) => setFilter({ severity })}
            />
            <FilterSelect
              label="Exploited"
              value={filter.exploited}
              choices={EXPLOITED_WORDS}
              onChoose={(exploited) => setFilter({ exploited })}
            />
            <FilterSelect
              label="Fix"
              value={filter.fix}
              choices={FIX_WORDS}
              onChoose={(fix) => setFilter({ fix })}
            />
          </>
        }
        empty={
          <EmptyState
            title={coverage?.hosts === 0 ? 'Nothing is known yet' : 'No vulnerability is known'}
            action={
              coverage?.hosts === 0 ? (
                <Link to="/enrolment">Add hosts</Link>
              ) : (
                <Link to="/hosts">See the hosts</Link>
              )
            }
          >
            {unknown ?? 'All installed packages were checked, and none has a known vulnerability.'}
          </EmptyState>
        }
        label="Vulnerabilities"
        columns={COLUMNS}
        rowId={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/vulnerabilities/$id', params: { id } })}
      />
    </Page>
  );
}

const COLUMNS: readonly Column<VulnerabilityItem>[] = [
  {
    id: 'vulnerability',
    header: 'Vulnerability',
    wide: true,
    cell: ({ id, names, summary, packages }) => (
      <span className="block truncate">
        <Link
          to="/vulnerabilities/$id"
          params={{ id }}
          className="font-medium underline"
          title={names.join(', ')}
        >
          {id}
        </Link>{' '}
        <span className="truncate text-muted max-xl:block">
          {summary || packages.map((one) => one.package).join(', ')}
        </span>
      </span>
    ),
  },
  {
    id: 'severity',
    header: 'Severity',
    part: 'pinned',
    cell: ({ severity }) => <SeverityBadge severity={severity ?? 'unknown'} />,
  },
  {
    id: 'exploited',
    header: 'Exploited',
    ...{ sort: 'urgency', sortFirst: 'descending', order: 'Urgency' },
    cell: ({ exploited, epss }) => <Exploitation known_exploited={exploited} epss={epss} />,
  },
  {
    id: 'hosts',
    header: 'Hosts',
    sort: 'hosts',
    sortFirst: 'descending',
    align: 'right',
    cell: ({ hosts }) => hosts,
  },
  {
    id: 'fix',
    header: 'Fix',
    cell: ({ fixable_hosts: now, waiting_hosts: later, unfixed_hosts: none }) =>
      [now > 0 && `${now} now`, later > 0 && `${later} waiting`, none > 0 && `no fix for ${none}`]
        .filter(Boolean)
        .join(', '),
  },
  {
    id: 'since',
    header: 'Since',
    sort: 'first_seen_at',
    sortFirst: 'descending',
    cell: ({ first_seen_at }) => <Time at={first_seen_at} />,
  },
];
