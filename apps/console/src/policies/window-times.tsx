import type { PolicyPreview, WindowTimes } from '@tidegate/protocol/policies-api';
import type { Schedule } from '@tidegate/protocol/windows-api';
import { Badge } from '../ui/badge.tsx';
import { ScrollArea } from '../ui/scroll-area.tsx';
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
  const own = ownZone();
  const open = forInstalling === null ? besides : [forInstalling, ...besides];
  if (windows.length === 0) return <p>Always open: the policy asks at any time.</p>;
  return (
    <div className="space-y-2">
      {open.length === 0 && <p>No window is open now{next.length === 0 && ', and none comes any more'}.</p>}
      {(open.length > 0 || next.length > 0) && (
        <ScrollArea label="Windows" className="sideways">
          <table className="w-full text-left">
            <thead className="text-[0.86rem] text-muted">
              <tr>
                {['Window', 'In the time zone of the policy', `In your time zone, ${own}`].map((header) => (
                  <th key={header} scope="col" className="py-1 pr-4 font-medium whitespace-nowrap">
                    {header}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {open.map((one) => (
                <WindowRow key={keyOf(one)} window={one} zone={zoneOf(one, windows)} own={own} isOpen />
              ))}
              {next.map((one) => (
                <WindowRow key={keyOf(one)} window={one} zone={zoneOf(one, windows)} own={own} />
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </div>
  );
}

const keyOf = (one: WindowTimes) => `${one.opens_at} ${one.closes_at} ${one.actions.join()}`;

function WindowRow(props: { window: WindowTimes; zone: string; own: string; isOpen?: boolean }) {
  const { window, zone, own, isOpen = false } = props;
  return (
    <tr className="border-t border-line align-top">
      <td className="py-1 pr-4 whitespace-nowrap">
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
      </td>
      <td className="py-1 pr-4">
        <Span window={window} zone={zone} /> <span className="whitespace-nowrap text-muted">{zone}</span>
      </td>
      <td className="py-1">
        <Span window={window} zone={own} />
      </td>
    </tr>
  );
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
