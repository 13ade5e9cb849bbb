import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import type { HostWithheld } from '@tidegate/protocol/holds-api';
import { Pin } from 'lucide-react';
import { dayText, heldText, securityHeldText, shareText } from '../holds/held-rules.ts';
import { Badge } from '../ui/badge.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { MANAGERS } from './package-managers.ts';
import { withheldQuery } from './withheld-query.ts';

/** How much of the host is up to date, and what keeps the rest back: holds, its own, a blackout. */
export function WithheldPanel({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery(withheldQuery(id));
  return (
    <Panel title="Up to date">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={2} />}
      {data && <Withheld of={data} />}
    </Panel>
  );
}

function Withheld({ of }: { of: HostWithheld }) {
  const { holds, own_holds: own, blackout } = of;
  return (
    <div className="space-y-3">
      <Share of={of} />
      {holds.length > 0 && (
        <ul aria-label="Holds that keep updates back" className="space-y-2">
          {holds.map((hold) => (
            <li key={hold.id} className="min-w-0 break-words">
              <Link to="/holds" className="font-medium">
                {hold.packages.join(', ')}
              </Link>{' '}
              until {dayText(hold.ends_at)}: {counted(hold.updates, 'update')}
              {hold.security_updates > 0 && (
                <span className="text-warn"> ({counted(hold.security_updates, 'security update')})</span>
              )}
              <p className="text-muted">{hold.reason}</p>
            </li>
          ))}
        </ul>
      )}
      <Facts
        facts={[
          ['Own holds', <OwnHolds key="own" of={own} />],
          [
            'Blackout',
            blackout === null ? (
              <span key="none" className="text-muted">
                none now
              </span>
            ) : (
              <p key="blackout">
                <Link to="/blackouts">{blackout.name}</Link> withholds changes; ends{' '}
                <Time at={blackout.until} />
              </p>
            ),
          ],
        ]}
      />
    </div>
  );
}

/** Of the packages that may change: what holds keep back is neither done nor missing. */
function Share({ of: { installed, open, held } }: { of: HostWithheld }) {
  const kept = heldText(held);
  const security = securityHeldText(held);
  return (
    <p>
      {installed === null ? (
        'The host has not reported its packages yet'
      ) : (
        <>
          <strong>{shareText(installed - open, installed - held.updates)}</strong> up to date
        </>
      )}
      {kept && `, ${kept}`}.{security && <span className="text-warn"> {security}</span>}
      {installed !== null && ` It has ${counted(installed, 'package')}.`}
    </p>
  );
}

function OwnHolds({ of: { total, packages } }: { of: HostWithheld['own_holds'] }) {
  if (total === 0) return <span className="text-muted">none</span>;
  return (
    <span className="flex flex-wrap items-center gap-1.5">
      {packages.map(({ ecosystem, name, version }) => (
        <Badge
          key={`${ecosystem} ${name} ${version}`}
          tone="neutral"
          icon={<Pin />}
          title={`${MANAGERS[ecosystem]} on this host is set not to change it`}
        >
          <bdi>{name}</bdi> <bdi>{version}</bdi>
        </Badge>
      ))}
      {total > packages.length && `${(total - packages.length).toLocaleString('en')} more`}
    </span>
  );
}
