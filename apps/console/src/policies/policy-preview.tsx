import { Link } from '@tanstack/react-router';
import type { PolicyPreview } from '@tidegate/protocol/policies-api';
import { MANAGERS } from '../hosts/package-managers.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Fold } from '../ui/fold.tsx';
import { reasonText } from './policy-rules.ts';

type Previewed = PolicyPreview['updates'][number];

/** What a policy would approve now; without links where following one would lose a form. */
export function ApprovedUpdates({ preview, linked }: { preview: PolicyPreview; linked: boolean }) {
  const { approves, unplanned, updates } = preview;
  const shown = updates.filter(({ reason }) => reason === null);
  const total = approves + unplanned;
  if (total === 0) return <p className="text-muted">Nothing now.</p>;
  return (
    <div className="space-y-2">
      <UpdateTable label="Updates that it would approve" rows={shown} linked={linked} />
      <Cut shown={shown.length} total={total} />
    </div>
  );
}

/** How many updates a policy leaves to people, by reason. */
export function ReasonCounts({ reasons }: Pick<PolicyPreview, 'reasons'>) {
  return (
    <ul className="space-y-1">
      {reasons.map(({ reason, count }) => (
        <li key={reason} className="flex gap-2">
          <span className="min-w-6 text-right font-medium tabular-nums">{count.toLocaleString('en')}</span>
          <span>{reasonText(reason)}</span>
        </li>
      ))}
    </ul>
  );
}

/** What a policy leaves to people, by reason, and the updates of which the answer names the reason. */
export function LeftUpdates({ preview, linked }: { preview: PolicyPreview; linked: boolean }) {
  const { reasons, leaves, updates } = preview;
  const shown = updates.filter(({ reason }) => reason !== null);
  if (leaves === 0) return <p className="text-muted">Nothing now.</p>;
  return (
    <div className="space-y-3">
      <ReasonCounts reasons={reasons} />
      {shown.length > 0 && (
        <Fold summary="Updates that meet the conditions on names, but are left">
          <UpdateTable label="Updates that it leaves to people" rows={shown} linked={linked} withReason />
        </Fold>
      )}
    </div>
  );
}

function Cut({ shown, total }: { shown: number; total: number }) {
  if (shown >= total) return null;
  return (
    <p className="text-muted">
      {shown.toLocaleString('en')} of {total.toLocaleString('en')} are listed.
    </p>
  );
}

const idOf = ({ update_id: id }: Previewed) => id;

function UpdateTable({
  label,
  rows,
  linked,
  withReason = false,
}: {
  label: string;
  rows: readonly Previewed[];
  linked: boolean;
  withReason?: boolean;
}) {
  const columns = linked ? LINKED : PLAIN;
  return (
    <DataTable label={label} columns={withReason ? [...columns, REASON] : columns} rows={rows} rowId={idOf} />
  );
}

const REASON: Column<Previewed> = {
  id: 'reason',
  header: 'Why',
  wide: true,
  wraps: true,
  cell: ({ reason }) => <span title={reasonText(reason ?? '')}>{reasonText(reason ?? '')}</span>,
};

const LINKED = columnsOf({
  name: ({ update_id: id, name }) => (
    <Link to="/updates/$id" params={{ id }} className="font-medium">
      {name}
    </Link>
  ),
  host: ({ agent_id: id, hostname }) => (
    <Link to="/hosts/$id" params={{ id }}>
      {hostname}
    </Link>
  ),
});

const PLAIN = columnsOf({
  name: ({ name }) => <span className="font-medium">{name}</span>,
  host: ({ hostname }) => hostname,
});

function columnsOf({
  name,
  host,
}: Readonly<Record<'name' | 'host', Column<Previewed>['cell']>>): readonly Column<Previewed>[] {
  return [
    { id: 'name', header: 'Package', cell: name },
    { id: 'version', header: 'To version', cell: (one) => <span className="mono">{one.to_version}</span> },
    { id: 'ecosystem', header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
    { id: 'host', header: 'Host', cell: host },
  ];
}
