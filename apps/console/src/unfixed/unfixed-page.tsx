import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { exploitedListText } from '@tidegate/protocol/exploited-words';
import { UNFIXED_SORT_DEFAULT, type UnfixedCoverage, type UnfixedItem } from '@tidegate/protocol/unfixed-api';
import { useMemo, useState } from 'react';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, oneQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { CoverageNote } from '../ui/coverage-note.tsx';
import { FilterSelect } from '../ui/filter-select.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { SearchBox } from '../ui/search-box.tsx';
import { EmptyState } from '../ui/states.tsx';
import { AffectedHosts } from './affected-hosts.tsx';
import { MitigateDialog } from './mitigate-dialog.tsx';
import { unfixedColumns } from './unfixed-columns.tsx';
import { EXPLOITED_WORDS, gapText, MITIGATED_WORDS, UNFIXED } from './unfixed-rules.ts';

const FILTERS = ['q', 'exploited', 'mitigated'] as const;

/** Known vulnerabilities of what is installed that no pending update fixes. */
export function UnfixedPage() {
  const list = useListSearch(FILTERS);
  const { may, groups } = useSession();
  // A note is one for all hosts, so operators bound to groups only read it.
  const mayNote = may('approver') && groups === null;
  const [looking, setLooking] = useState<UnfixedItem | null>(null);
  const [noting, setNoting] = useState<UnfixedItem | null>(null);
  const columns = useMemo(
    () =>
      unfixedColumns({ onHosts: setLooking, onNote: mayNote ? setNoting : null, searched: list.filter.q }),
    [mayNote, list.filter.q],
  );
  const query = useQuery(listQuery<UnfixedItem>('updates', UNFIXED, list.query));
  const { data: coverage } = useQuery(oneQuery<UnfixedCoverage>('updates', `${UNFIXED}/coverage`));
  const gap = coverage ? gapText(coverage) : null;
  const { filter, setFilter } = list;
  return (
    <Page
      title="Vulnerabilities without a fix"
      lead="Known vulnerabilities in installed packages that no pending update is known to fix."
    >
      {coverage && coverage.hosts > 0 && (
        <CoverageNote at={coverage.at}>
          {gap ?? `All packages of ${counted(coverage.hosts, 'host')} were checked.`}{' '}
          {exploitedListText(coverage.exploited_list)}
        </CoverageNote>
      )}
      <ListTable
        list={list}
        query={query}
        noun="vulnerabilities"
        order={UNFIXED_SORT_DEFAULT}
        toolbar={
          <>
            <SearchBox
              label="Package or id"
              value={filter.q ?? ''}
              onSearch={(text) => setFilter({ q: text || undefined })}
            />
            <FilterSelect
              label="Exploited"
              value={filter.exploited}
              choices={EXPLOITED_WORDS}
              onChoose={(exploited) => setFilter({ exploited })}
            />
            <FilterSelect
              label="Mitigation"
              value={filter.mitigated}
              choices={MITIGATED_WORDS}
              onChoose={(mitigated) => setFilter({ mitigated })}
            />
          </>
        }
        empty={
          <EmptyState
            title={coverage?.hosts === 0 ? 'Nothing is known yet' : 'No vulnerability without a fix is known'}
            action={
              coverage?.hosts === 0 ? (
                <Link to="/enrolment">Add hosts</Link>
              ) : (
                <Link to="/updates">See the updates</Link>
              )
            }
          >
            {coverage && gap === null
              ? 'Each known vulnerability of the hosts has a pending update that is known to fix it.'
              : gap}
          </EmptyState>
        }
        label="Vulnerabilities without a fix"
        columns={columns}
        rowId={idOf}
        onOpen={setLooking}
      />
      {looking && <AffectedHosts item={looking} onClose={() => setLooking(null)} />}
      {noting && <MitigateDialog item={noting} onClose={() => setNoting(null)} />}
    </Page>
  );
}

const idOf = ({ id }: UnfixedItem) => id;
