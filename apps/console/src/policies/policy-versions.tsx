import type { PolicyDetail } from '@tidegate/protocol/policies-api';
import { CopyText } from '../ui/copy-text.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Time } from '../ui/time.tsx';
import { ENDS } from './policy-rules.ts';

type Version = PolicyDetail['versions'][number];

/** Digits of a digest that are shown; copying it takes all. */
const SHORT = 16;

const COLUMNS: readonly Column<Version>[] = [
  { id: 'version', header: 'Version', cell: ({ version }) => version },
  {
    id: 'sha256',
    header: 'Digest',
    cell: ({ sha256 }) => <CopyText text={sha256} short={sha256.slice(0, SHORT)} label="Copy the digest" />,
  },
  { id: 'author', header: 'Author', cell: ({ author }) => author },
  { id: 'created_at', header: 'Published', cell: ({ created_at: at }) => <Time at={at} /> },
  {
    id: 'end',
    header: 'End',
    wide: true,
    wraps: true,
    cell: ({ end_reason: reason, ended_at: at }) =>
      reason === null ? (
        <span className="text-muted">none yet</span>
      ) : (
        <>
          {ENDS[reason]}, <Time at={at} />
        </>
      ),
  },
];

/** Every version with its digest, which tokens, decisions and events name. */
export function PolicyVersions({ versions }: { versions: readonly Version[] }) {
  return (
    <section className="rounded-xl border border-line bg-surface">
      <header className="border-b border-line px-4 py-2.5">
        <h2 className="font-semibold">Versions</h2>
      </header>
      <DataTable
        label="Versions of this policy"
        columns={COLUMNS}
        rows={versions}
        rowId={({ sha256 }) => sha256}
      />
    </section>
  );
}
