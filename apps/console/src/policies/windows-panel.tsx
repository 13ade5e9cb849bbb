import type { PolicyDetail, PolicyPreview } from '@tidegate/protocol/policies-api';
import { Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { scheduleText, zonedTime } from './policy-words.ts';

/** When a policy may run: its schedules, and the next windows in their zones and in the reader's. */
export function WindowsPanel({
  policy: { windows },
  preview,
}: {
  policy: PolicyDetail;
  preview: PolicyPreview | null;
}) {
  if (windows.length === 0) {
    return (
      <Panel title="Windows">
        <p>None: it may approve at any time.</p>
      </Panel>
    );
  }
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = [...new Set([...windows.map(({ zone }) => zone), own])];
  return (
    <Panel title="Windows">
      <ul className="space-y-1">
        {windows.map((schedule) => (
          <li key={scheduleText(schedule)} className="break-words">
            {scheduleText(schedule)}
          </li>
        ))}
      </ul>
      {preview?.open_window && (
        <p className="mt-3 font-medium">
          One is open, and closes <Time at={preview.open_window.closes_at} />.
        </p>
      )}
      {preview && preview.next_windows.length === 0 && <p className="mt-3">No further one comes.</p>}
      {preview && preview.next_windows.length > 0 && (
        <>
          <h3 className="mt-3 font-medium">Next</h3>
          <ol className="mt-1 space-y-2">
            {preview.next_windows.map(({ opens_at }) => (
              <li key={opens_at}>
                {zones.map((zone) => (
                  <div key={zone} className={zone === own && zones.length > 1 ? 'text-muted' : ''}>
                    {zonedTime(opens_at, zone)} <span className="text-muted">({zone})</span>
                  </div>
                ))}
              </li>
            ))}
          </ol>
        </>
      )}
    </Panel>
  );
}
