import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import type { Envelope } from '@tidegate/protocol/documents';
import { Check, CircleHelp, Download, OctagonX, Undo2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { get } from '../api/client.ts';
import { listQuery } from '../api/queries.ts';
import { actorText } from '../ui/actor.ts';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Panel } from '../ui/page.tsx';
import { saveJson } from '../ui/save-file.ts';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { attempt } from '../ui/toasts.tsx';
import { REASONS, STATUSES } from './update-words.ts';

const SHOWN = 20;
const STATEMENTS_SHOWN = 5;

const OUTCOMES: Readonly<
  Record<DecisionItem['outcome'], { tone: BadgeTone; icon: ReactNode; word: string }>
> = {
  minted: { tone: 'good', icon: <Check />, word: 'approved' },
  blocked: { tone: 'bad', icon: <OctagonX />, word: 'blocked' },
  handed_back: { tone: 'warn', icon: <Undo2 />, word: 'returned to pending' },
};

/** The recorded decisions of the gate, each with a signed statement to save. */
export function DecisionsPanel({ updateId }: { updateId: string }) {
  const path = `/api/v1/updates/${updateId}/decisions`;
  const { data, error, refetch } = useQuery(listQuery<DecisionItem>('updates', path, { limit: SHOWN }));
  return (
    <Panel title="Recorded decisions">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {!data && !error && <Skeleton rows={2} />}
      {data?.items.length === 0 && <p className="text-muted">No decision has been made yet.</p>}
      <ul className="divide-y divide-line">
        {data?.items.map((decision) => (
          <DecisionRow key={decision.id} decision={decision} />
        ))}
      </ul>
      {data && data.total > data.items.length && (
        <p className="mt-2 text-muted">
          The newest {data.items.length} of {data.total.toLocaleString('en')}.
        </p>
      )}
    </Panel>
  );
}

function DecisionRow({ decision }: { decision: DecisionItem }) {
  const { id, outcome, actor, decided_at: at, repeats, sha256, unchecked, statements } = decision;
  const { tone, icon, word } = OUTCOMES[outcome];
  const [busy, setBusy] = useState(false);
  const download = async () => {
    setBusy(true);
    const statement = await attempt(() => get<Envelope>(`/api/v1/decisions/${id}/statement`));
    if (statement) await saveJson(`decision-${id}.dsse.json`, statement);
    setBusy(false);
  };
  return (
    <li className="space-y-1 py-2 first:pt-0 last:pb-0">
      <p className="flex flex-wrap items-center gap-x-2">
        <Badge tone={tone} icon={icon}>
          {word}
        </Badge>
        {unchecked !== null && (
          <Badge tone="bad" icon={<CircleHelp />} title={REASONS[unchecked]}>
            not all checked
          </Badge>
        )}
        <span className="text-muted">
          by <bdi>{actorText(actor)}</bdi>, <Time at={at} />
          {repeats > 0 && `, repeated ${repeats} times`}
        </span>
      </p>
      {statements.slice(0, STATEMENTS_SHOWN).map((one) => (
        <p key={one.id} className="break-words">
          An operator's <Link to="/statements">statement</Link> counted:{' '}
          <span className="mono">{one.vulnerability}</span> in <span className="mono">{one.package}</span>,{' '}
          {STATUSES[one.status]}.
        </p>
      ))}
      {statements.length > STATEMENTS_SHOWN && (
        <p className="text-muted">
          {statements.length - STATEMENTS_SHOWN} more statements are in the signed record.
        </p>
      )}
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <CopyText text={sha256} short={`${sha256.slice(0, 12)}…`} label="SHA-256 of the record" />
        <Button
          tone="quiet"
          busy={busy}
          onClick={() => void download()}
          icon={<Download aria-hidden="true" className="size-4" />}
        >
          Signed statement
        </Button>
      </p>
    </li>
  );
}
