import { Link } from '@tanstack/react-router';
import type { UpdateDetail } from '@tidegate/protocol/updates-api';
import { Check } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Panel } from '../ui/page.tsx';
import { ScrollArea } from '../ui/scroll-area.tsx';
import { BulkApproval } from './bulk-approval.tsx';
import { Versions } from './update-columns.tsx';
import { STATE_VERBS, siblingsText } from './update-words.ts';

/** The other updates that the same transaction brings; approved with them, they are one set with one token. */
export function Siblings({ update }: { update: UpdateDetail }) {
  const [asked, setAsked] = useState<readonly Named[]>([]);
  return (
    <>
      {update.siblings ? <SiblingsPanel update={update} onApprove={setAsked} /> : null}
      {asked.length > 0 && (
        // Beside the panel, which goes away when they are approved.
        <BulkApproval
          chosen={{ kind: 'ids', ids: asked.map(({ id }) => id) }}
          known={new Map(asked.map((one) => [one.id, one]))}
          onClose={() => setAsked([])}
          onDone={() => {}}
        />
      )}
    </>
  );
}

type Named = Pick<UpdateDetail, 'id' | 'name' | 'hostname'>;

function SiblingsPanel({
  update,
  onApprove,
}: {
  update: UpdateDetail;
  onApprove: (all: readonly Named[]) => void;
}) {
  const { may } = useSession();
  const { hostname, listed_siblings: listed } = update;
  const unlisted = (update.siblings ?? 0) - listed.length;
  const all = [update, ...listed].filter(({ state }) => STATE_VERBS[state].approve);
  return (
    <Panel title="One transaction">
      <p>
        {siblingsText(update.siblings ?? 0)}: the host{' '}
        <Term of="transaction">cannot install one without the others</Term>.
      </p>
      <ScrollArea label="Updates of the same transaction" className="mt-2 max-h-64">
        <ul className="space-y-1.5">
          {listed.map((sibling) => (
            <li key={sibling.id} className="flex flex-wrap items-center gap-x-2">
              <Link to="/updates/$id" params={{ id: sibling.id }} className="font-medium">
                {sibling.name}
              </Link>
              {sibling.arch !== null && sibling.arch !== update.arch && (
                <span className="text-muted">{sibling.arch}</span>
              )}
              <Versions update={sibling} />
              {sibling.state !== 'pending' && <StateBadge state={sibling.state} />}
            </li>
          ))}
        </ul>
      </ScrollArea>
      {unlisted > 0 && (
        <p className="mt-2 text-muted">{unlisted.toLocaleString('en')} more are not listed.</p>
      )}
      {may('approver') && unlisted === 0 && all.length > 1 && (
        <div className="mt-3">
          <Button
            icon={<Check aria-hidden="true" className="size-4" />}
            onClick={() => onApprove(all.map(({ id, name }) => ({ id, name, hostname })))}
          >
            Approve all {all.length.toLocaleString('en')} together
          </Button>
        </div>
      )}
    </Panel>
  );
}
