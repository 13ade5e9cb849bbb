import type { PlanAction } from '@tidegate/protocol/plan';
import type { WayBack } from '@tidegate/protocol/rollbacks';
import type { UpdatePlan } from '@tidegate/protocol/updates-api';
import { ArrowDown, ArrowUp, Minus, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { type FactColumn, FactsTable } from '../ui/facts-table.tsx';
import { Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { bytesText } from './update-words.ts';
import { wayBackText } from './way-back-rules.ts';

const SHOWN_AT_FIRST = 50;
const HASH_SHORT = 12;

const ACTIONS: Readonly<Record<PlanAction['action'], ReactNode>> = {
  install: <Plus />,
  upgrade: <ArrowUp />,
  downgrade: <ArrowDown />,
  remove: <Minus />,
};

/** Everything that the host would change, each file with its hash: exactly what an approval signs. */
export function PlanPanel({
  plan,
  wayBack,
  hostname,
}: {
  plan: UpdatePlan | null;
  wayBack: WayBack | null;
  hostname: string;
}) {
  const [isWhole, setWhole] = useState(false);
  if (plan === null)
    return (
      <Panel title="The plan">
        <p className="text-muted">
          <bdi>{hostname}</bdi> has not reported yet what this update would change. Approving asks it first;
          nothing is approved until the plan is known and judged.
        </p>
      </Panel>
    );
  const { actions } = plan;
  const shown = isWhole ? actions : actions.slice(0, SHOWN_AT_FIRST);
  return (
    <Panel
      title="The plan"
      aside={
        <span className="text-muted">
          resolved <Time at={plan.resolved_at} />
        </span>
      }
    >
      <div className="-mx-3">
        <FactsTable
          label="What the host would change"
          columns={COLUMNS}
          rows={shown}
          rowId={({ name, arch }) => `${name}:${arch ?? ''}`}
        />
      </div>
      {!isWhole && actions.length > shown.length && (
        <Button className="mt-3" onClick={() => setWhole(true)}>
          Show all {actions.length.toLocaleString('en')}
        </Button>
      )}
      <p className="mt-3 text-muted">Rollback: {wayBackText(wayBack)}.</p>
      <p className="mt-1 flex flex-wrap items-center gap-x-2 text-muted">
        Plan hash <CopyText text={plan.plan_sha256} label="Copy the hash" />
      </p>
    </Panel>
  );
}

const COLUMNS: readonly FactColumn<PlanAction>[] = [
  {
    ...{ header: 'Action', part: 'pinned', className: 'whitespace-nowrap' },
    cell: ({ action }) => (
      <span className={action === 'remove' ? 'font-medium text-warn' : ''}>
        <span aria-hidden="true" className="mr-1 inline-block align-[-2px] [&>svg]:size-3.5">
          {ACTIONS[action]}
        </span>
        {action}
      </span>
    ),
  },
  {
    ...{ header: 'Package', part: 'name', className: 'min-w-32' },
    cell: ({ name, arch }) => (
      <>
        <span className="font-medium wrap-anywhere">{name}</span>
        {arch && <span className="block wrap-anywhere text-muted">{arch}</span>}
      </>
    ),
  },
  {
    ...{ header: 'Before', className: 'mono min-w-32' },
    cell: (one) => one.from_version ?? <None />,
  },
  {
    ...{ header: 'After', className: 'mono min-w-32' },
    cell: (one) => one.to_version ?? <None />,
  },
  {
    ...{ header: 'Hash', className: 'whitespace-nowrap' },
    cell: (one) => <Hash action={one} />,
  },
  {
    ...{ header: 'Source', className: 'min-w-44' },
    cell: (one) => <Source action={one} />,
  },
  {
    ...{ header: 'Size', className: 'whitespace-nowrap tabular-nums' },
    cell: ({ artifact }) =>
      artifact ? bytesText(artifact.size_bytes) : <span className="text-muted">–</span>,
  },
];

function None() {
  return <span className="text-muted">none</span>;
}

function Hash({ action: { artifact } }: { action: PlanAction }) {
  const hash = artifact?.sha256 ?? artifact?.sha512;
  if (!hash) return <span className="text-muted">no download</span>;
  const label = artifact?.sha256 ? 'SHA-256' : 'SHA-512';
  return <CopyText text={hash} short={`${hash.slice(0, HASH_SHORT)}…`} label={label} />;
}

function Source({ action: { origin, source_name, source_version, artifact } }: { action: PlanAction }) {
  return (
    <>
      <span className="wrap-anywhere">{origin ?? <span className="text-muted">not known</span>}</span>
      {source_name && (
        <span className="block wrap-anywhere text-muted">
          built from <bdi>{source_name}</bdi> <bdi>{source_version}</bdi>
        </span>
      )}
      {artifact && <span className="mono block wrap-anywhere text-muted">{artifact.filename}</span>}
    </>
  );
}
