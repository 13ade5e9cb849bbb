import { useQuery } from '@tanstack/react-query';
import { CircleDashed, ShieldCheck } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { keySetQuery } from './key-set-query.ts';
import type { KeySetFacts } from './key-set-rules.ts';

const SHORT = 16;

/** The key set in force, and the offline root that vouches for it if there is one. */
export function RootPanel() {
  const { data, error, isPending, refetch } = useQuery(keySetQuery);
  return (
    <Panel title="Key set and offline root">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={3} />}
      {data && (
        <Facts
          facts={[
            ['Key set', `version ${data.version}`],
            ['Issued', <Time key="issued" at={data.issuedAt} />],
            ['Expires', <Time key="expires" at={data.expiresAt} />],
            ['Offline root', <RootState key="root" root={data.root} />],
          ]}
        />
      )}
    </Panel>
  );
}

function RootState({ root }: { root: KeySetFacts['root'] }) {
  if (root === null)
    return (
      <div className="space-y-1">
        <Badge tone="neutral" icon={<CircleDashed />}>
          none
        </Badge>
        <p className="text-muted">
          The keys in the list vouch for new ones. With an offline root, new keys need signatures of keys that
          were never on this machine: <code>tidegate keys root</code>.
        </p>
      </div>
    );
  return (
    <div className="space-y-1">
      <Badge tone="good" icon={<ShieldCheck />}>
        version {root.version}
      </Badge>
      <p>
        {root.threshold === null
          ? 'How many keys must sign is not known here.'
          : `${root.threshold} of ${root.keys.length} offline keys must sign each new key set.`}
      </p>
      <ul>
        {root.keys.map((key) => (
          <li key={key}>
            <CopyText text={key} short={`${key.slice(0, SHORT)}…`} label="Copy the public key" />
          </li>
        ))}
      </ul>
      <p>
        SHA-256 of the document{' '}
        <CopyText text={root.sha256} short={`${root.sha256.slice(0, SHORT)}…`} label="Copy the hash" />
      </p>
    </div>
  );
}
