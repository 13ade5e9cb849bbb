import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import { listQuery } from '../api/queries.ts';
import { StateBadge } from '../ui/badge.tsx';
import { Panel } from '../ui/page.tsx';
import { othersOf } from './offer-rules.ts';
import { updateQuery } from './update-view.ts';
import { CHANGE_WORDS, OFFER_WORDS, offersText } from './update-words.ts';

/** The other versions of the package that are offered for the host; the operator switches by opening one. */
export function OtherVersions({ update }: { update: UpdateItem }) {
  const { agent_id, ecosystem, name } = update;
  const isOffered = update.offers.length > 0;
  const filter = { agent_id, ecosystem, name, alternatives: 'true', limit: '100' };
  const { data } = useQuery({
    ...listQuery<UpdateItem>('updates', '/api/v1/updates', filter),
    enabled: isOffered,
  });
  const others = othersOf(update, data?.items ?? []);
  if (!isOffered) return null;
  return (
    <Panel title="Offered versions">
      <p>
        <span className="mono font-medium">{update.available_version}</span> is {offersText(update)}
        {update.change && <span className="text-muted">, {CHANGE_WORDS[update.change]}</span>}.
        {!update.recommended && update.state === 'pending' && (
          <span className="text-muted"> Another version is recommended.</span>
        )}
      </p>
      {others.length > 0 && (
        <ul aria-label="Other versions" className="mt-2 space-y-1.5">
          {others.map((other) => (
            <li key={other.id} className="flex flex-wrap items-center gap-2">
              <Link to="/updates/$id" params={{ id: other.id }} className="mono font-medium">
                {other.available_version}
              </Link>
              <span>
                {other.offers.map((offer) => OFFER_WORDS[offer]).join(', ')}
                {other.recommended && <span className="text-muted"> (recommended)</span>}
              </span>
              {other.change && <span className="text-muted">{CHANGE_WORDS[other.change]}</span>}
              {(other.fixes ?? 0) > 0 && <Fixed id={other.id} count={other.fixes ?? 0} />}
              {(other.introduces ?? 0) > 0 && <span className="text-bad">introduces {other.introduces}</span>}
              {other.state !== 'pending' && <StateBadge state={other.state} />}
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <p className="mt-2 text-muted">
          Open a version to approve it instead. Only one version of a package can be approved for a host.
        </p>
      )}
    </Panel>
  );
}

const NAMED_FIXES = 3;

/** The vulnerabilities that a version fixes: the first by name. */
function Fixed({ id, count }: { id: string; count: number }) {
  const { data } = useQuery(updateQuery(id));
  const names = [...new Set(data?.gate?.fixes.map((fix) => fix.id) ?? [])];
  if (names.length === 0) return <span className="text-good">fixes {count}</span>;
  const more = names.length - NAMED_FIXES;
  return (
    <span className="text-good">
      fixes {names.slice(0, NAMED_FIXES).join(', ')}
      {more > 0 && ` and ${more} more`}
    </span>
  );
}
