import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { UnfixedHost, UnfixedItem } from '@tidegate/protocol/unfixed-api';
import { useState } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { nameOf, UNFIXED } from './unfixed-rules.ts';

interface HostPage {
  readonly items: readonly UnfixedHost[];
  readonly next_cursor: string | null;
}

/** The hosts that have one vulnerability without a pending fix now, which may differ from the last count. */
export function AffectedHosts({ item, onClose }: { item: UnfixedItem; onClose: () => void }) {
  const { distribution, package: name, vulnerability } = item;
  const [cursor, setCursor] = useState<string | null>(null);
  const named = { distribution, package: name, vulnerability, cursor };
  const query = useQuery(oneQuery<HostPage>('updates', `${UNFIXED}/hosts`, named));
  const { data } = query;
  return (
    <Dialog title={`Hosts with ${isolated(nameOf(item))}`} onClose={onClose} wide>
      {query.isPending && <Skeleton rows={3} />}
      {query.isError && <ErrorPanel error={query.error} retry={() => void query.refetch()} />}
      {data && data.items.length === 0 && (
        <p className="text-muted">
          {data.next_cursor === null
            ? 'No further host has it now. The next count follows.'
            : 'None of these hosts has it now. There are more to look at.'}
        </p>
      )}
      <ul className="divide-y divide-line">
        {data?.items.map(({ agent_id, hostname, group, packages }) => (
          <li key={agent_id} className="flex flex-wrap justify-between gap-2 py-2">
            <span>
              <Link to="/hosts/$id" params={{ id: agent_id }} className="font-medium underline">
                {hostname}
              </Link>
              {group !== null && (
                <span className="text-muted">
                  {' '}
                  in <bdi>{group}</bdi>
                </span>
              )}
            </span>
            <span className="mono text-muted">
              {packages.map((one) => `${isolated(one.name)} ${isolated(one.version)}`).join(', ')}
            </span>
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap justify-end gap-2">
        {cursor !== null && <Button onClick={() => setCursor(null)}>Back to the first</Button>}
        {data && data.next_cursor !== null && (
          <Button onClick={() => setCursor(data.next_cursor)}>Show the next hosts</Button>
        )}
      </div>
    </Dialog>
  );
}
