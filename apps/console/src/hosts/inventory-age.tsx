import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { ReportItem } from '@tidegate/protocol/inventory-api';
import { CircleHelp, TriangleAlert } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';
import { presenceOf } from './host-rules.ts';
import { MANAGERS } from './package-managers.ts';

/**
 * The age of the list. A host does not send an unchanged inventory again but confirms it at each check-in, so a report
 * is as fresh as the last check-in.
 */
export function InventoryAge({ host, reports }: { host: AgentItem; reports: readonly ReportItem[] }) {
  const isCheckingIn = presenceOf(host) === 'online';
  return (
    <section aria-label="Age of this list" className="rounded-xl border border-line bg-surface px-4 py-3">
      <ul className="flex flex-wrap gap-x-8 gap-y-1.5">
        {reports.map(({ ecosystem, scanned_at, complete, packages, lists_confirmed_at: listsAt }) => (
          <li key={ecosystem} className="inline-flex flex-wrap items-center gap-x-2">
            <strong>{MANAGERS[ecosystem]}</strong>
            <span>{packages.toLocaleString('en')} packages</span>
            <span className="text-muted">
              scanned <Time at={scanned_at} />
              {listsAt !== null && (
                <>
                  , package lists fetched <Time at={listsAt} />
                </>
              )}
            </span>
            {!complete && (
              <Badge
                tone="unknown"
                icon={<CircleHelp />}
                title="The scan failed in part: packages may be missing from the list"
              >
                incomplete: there may be more
              </Badge>
            )}
          </li>
        ))}
      </ul>
      <p className="mt-1.5 text-muted">
        {isCheckingIn ? (
          <>
            The host confirms this list at each check-in, most recently <Time at={host.last_seen_at} />.
          </>
        ) : (
          <span className="inline-flex flex-wrap items-center gap-x-2">
            <Badge tone="warn" icon={<TriangleAlert />}>
              may be out of date
            </Badge>
            <span>
              {host.last_seen_at === null ? (
                'The host has never checked in'
              ) : (
                <>
                  The host last checked in <Time at={host.last_seen_at} />
                </>
              )}
              : its current packages are not known.
            </span>
          </span>
        )}
      </p>
    </section>
  );
}
