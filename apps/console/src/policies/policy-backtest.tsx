import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { BacktestUpdate, PolicyBacktest } from '@tidegate/protocol/backtest-api';
import { History } from 'lucide-react';
import { useState } from 'react';
import { Term } from '../glossary/term.tsx';
import { Button } from '../ui/button.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { backtestText, FATES, limitsText, wouldText } from './backtest-rules.ts';

/** What a policy would have done in the last 30 days. Asked for by a button: thousands of decisions are judged again. */
export function PolicyBacktestView({
  id,
  ask,
  linked,
}: {
  /** What tells one question from another. */
  id: readonly unknown[];
  ask: (signal: AbortSignal) => Promise<PolicyBacktest>;
  /** Whether updates are links; following one would lose a form. */
  linked: boolean;
}) {
  const [isAsked, setAsked] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['policy-backtest', ...id],
    queryFn: ({ signal }) => ask(signal),
    enabled: isAsked,
    refetchInterval: false,
    refetchOnWindowFocus: false,
    staleTime: 60_000,
  });
  if (!isAsked) {
    return (
      <div className="space-y-2">
        <p className="text-muted">
          The <Term of="gate">gate</Term> judges the recorded decisions of the last 30 days again, on the
          facts of then, with these terms.
        </p>
        <Button onClick={() => setAsked(true)} icon={<History aria-hidden="true" className="size-4" />}>
          Look back 30 days
        </Button>
      </div>
    );
  }
  if (error) return <ErrorPanel error={error} retry={() => void refetch()} />;
  if (!data) return <Skeleton />;
  const limits = limitsText(data);
  return (
    <div className="space-y-2">
      <p role="status">{backtestText(data)}</p>
      {limits && <p className="text-muted">{limits}</p>}
      {data.updates.length > 0 && (
        <DataTable
          label="What it would have done"
          columns={linked ? LINKED : PLAIN}
          rows={data.updates}
          rowId={idOf}
        />
      )}
    </div>
  );
}

const idOf = ({ update_id: id }: BacktestUpdate) => id;

const REST: readonly Column<BacktestUpdate>[] = [
  { id: 'version', header: 'To version', cell: (one) => <span className="mono">{one.to_version}</span> },
  { id: 'host', header: 'Host', cell: ({ hostname }) => hostname },
  { id: 'decided', header: 'Decided', cell: ({ decided_at: at }) => <Time at={at} /> },
  { id: 'would', header: 'It would have', wide: true, wraps: true, cell: wouldText },
  { id: 'fate', header: 'In truth', cell: ({ fate }) => FATES[fate] },
];

const PLAIN: readonly Column<BacktestUpdate>[] = [
  { id: 'name', header: 'Package', cell: ({ name }) => <span className="font-medium">{name}</span> },
  ...REST,
];

const LINKED: readonly Column<BacktestUpdate>[] = [
  {
    id: 'name',
    header: 'Package',
    cell: ({ update_id: id, name }) => (
      <Link to="/updates/$id" params={{ id }} className="font-medium">
        {name}
      </Link>
    ),
  },
  ...REST,
];
