import { counted } from '@tidegate/protocol/count-words';
import type { RolloutDetail } from '@tidegate/protocol/rollouts-api';
import { MANAGERS } from '../hosts/package-managers.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Fold } from '../ui/fold.tsx';
import { Panel } from '../ui/page.tsx';

type Carried = RolloutDetail['package_list'][number];

/** More than these are folded. */
const OPEN_MAX = 5;

/** The versions that a rollout carries. */
export function RolloutPackages({
  rollout: { packages, package_list: list },
}: {
  rollout: Pick<RolloutDetail, 'packages' | 'package_list'>;
}) {
  const table = <DataTable label="Versions of this rollout" columns={COLUMNS} rows={list} rowId={idOf} />;
  return (
    <Panel title="Packages">
      {list.length > OPEN_MAX ? <Fold summary={counted(packages, 'version')}>{table}</Fold> : table}
      {list.length < packages && (
        <p className="mt-2 text-muted">
          {list.length.toLocaleString('en')} of {packages.toLocaleString('en')} are listed.
        </p>
      )}
    </Panel>
  );
}

const idOf = ({ ecosystem, name, version }: Carried) => `${ecosystem} ${name} ${version}`;

const COLUMNS: readonly Column<Carried>[] = [
  { id: 'name', header: 'Package', cell: ({ name }) => <span className="font-medium">{name}</span> },
  { id: 'version', header: 'Version', cell: ({ version }) => <span className="mono">{version}</span> },
  { id: 'ecosystem', header: 'Package manager', cell: ({ ecosystem }) => MANAGERS[ecosystem] },
  {
    id: 'hosts',
    header: 'Hosts that offered it',
    align: 'right',
    cell: ({ hosts }) => hosts.toLocaleString('en'),
  },
];
