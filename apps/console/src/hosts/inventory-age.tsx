import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { ReportItem } from '@tidegate/protocol/inventory-api';
import { CircleHelp, TriangleAlert } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import { presenceOf } from './host-rules.ts';
import { MANAGERS } from './package-managers.ts';

/**
 * How old the list is. A host that finds the same as before does not report it again, but confirms with each check-in
 * that it is the same: so a report is as fresh as the host is heard of.
 */
export function InventoryAge({ host, reports }: { host: AgentItem; reports: readonly ReportItem[] }) {
  const isHeard = presenceOf(host) === 'online';
  return (
    <section aria-label="Age of this list" className="rounded-xl border border-line bg-surface px-4 py-3">
      <ul className="flex flex-wrap gap-x-8 gap-y-1.5">
        {reports.map(({ ecosystem, scanned_at, complete, packages }) => (
          <li key={ecosystem} className="inline-flex flex-wrap items-center gap-x-2">
            <strong>{MANAGERS[ecosystem]}</strong>
            <span>{packages.toLocaleString('en')} packages</span>
            <span className="text-muted">
              as scanned <Time at={scanned_at} />
            </span>
            {!complete && (
              <Badge
                tone="unknown"
                icon={<CircleHelp />}
                title="The scan failed in part: there may be more than is listed"
              >
                incomplete: there may be more
              </Badge>
            )}
          </li>
        ))}
      </ul>
      <p className="mt-1.5 text-muted">
        {isHeard ? (
          <>
            The host says with each check-in whether this is still what it has, and was heard of{' '}
            <Time at={host.last_seen_at} />.
          </>
        ) : (
          <span className="inline-flex flex-wrap items-center gap-x-2">
            <Badge tone="warn" icon={<TriangleAlert />}>
              may be out of date
            </Badge>
            <span>
              {host.last_seen_at === null ? (
                'No check-in of the host is known'
              ) : (
                <>
                  The host was last heard of <Time at={host.last_seen_at} />
                </>
              )}
              : what it has now is not known.
            </span>
          </span>
        )}
      </p>
    </section>
  );
}
