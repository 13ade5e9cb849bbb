import type { PolicyPreview, WindowTimes } from '@tidegate/protocol/policies-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { Badge } from '../ui/badge.tsx';
import { type FactColumn, FactsTable } from '../ui/facts-table.tsx';
import { Time } from '../ui/time.tsx';
import { actionsText, wallTime, zoneOf } from './schedule-rules.ts';

/** The reader's time zone. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The open window and the next ones, in the time zone of their schedule and in the reader's. */
export function WindowTimesTable({
  preview: { open_window: forInstalling, open_besides: besides, next_windows: next },
  windows,
}: {
  preview: PolicyPreview;
  windows: readonly Schedule[];
}) {
  const open = forInstalling === null ? besides : [forInstalling, ...besides];
  if (windows.length === 0) return <p>Always open: the policy works at any time.</p>;
  return (
    <div className="space-y-2">
      {open.length === 0 && <p>No window is open now{next.length === 0 && ', and none comes any more'}.</p>}
      {(open.length > 0 || next.length > 0) && (
        <div className="-mx-3">
          <FactsTable
            label="Windows"
            columns={columnsOf(windows)}
            rows={[
              ...open.map((window) => ({ window, isOpen: true })),
              ...next.map((window) => ({ window })),
            ]}
            rowId={({ window }) => `${window.opens_at} ${window.closes_at} ${window.actions.join()}`}
          />
        </div>
      )}
    </div>
  );
}

interface Row {
  readonly window: WindowTimes;
  readonly isOpen?: boolean;
}

function columnsOf(windows: readonly Schedule[]): readonly FactColumn<Row>[] {
  const own = ownZone();
  return [
    {
      ...{ header: 'Window', part: 'name', className: 'whitespace-nowrap' },
      cell: ({ window, isOpen = false }) => (
        <>
          {isOpen ? (
            <>
              <Badge tone="good">open</Badge> closes <Time at={window.closes_at} />
            </>
          ) : (
            <>
              opens <Time at={window.opens_at} />
            </>
          )}
          <p className="text-muted">{actionsText(window.actions)}</p>
        </>
      ),
    },
    {
      header: 'In the time zone of the policy',
      cell: ({ window }) => {
        const zone = zoneOf(window, windows);
        return (
          <>
            <Span window={window} zone={zone} /> <span className="whitespace-nowrap text-muted">{zone}</span>
          </>
        );
      },
    },
    {
      header: `In your time zone, ${own}`,
      cell: ({ window }) => <Span window={window} zone={own} />,
    },
  ];
}

function Span({ window, zone }: { window: WindowTimes; zone: string }) {
  const text = (at: string) => wallTime(at, zone) ?? `${wallTime(at, 'UTC')} UTC`;
  return (
    <>
      <span className="whitespace-nowrap">{text(window.opens_at)}</span> to{' '}
      <span className="whitespace-nowrap">{text(window.closes_at)}</span>
    </>
  );
}
