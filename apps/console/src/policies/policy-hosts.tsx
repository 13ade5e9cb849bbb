import { Link } from '@tanstack/react-router';
import type { PolicyPreview, PolicyScope } from '@tidegate/protocol/policies-api';
import { Panel } from '../ui/page.tsx';
import { scopeText } from './policy-rules.ts';

/** The hosts that a policy reaches now: how many, and the first by name. */
export function HostsPanel({
  scope,
  preview,
}: {
  scope: PolicyScope;
  /** Undefined while it is loading. */
  preview: PolicyPreview | undefined;
}) {
  const count = preview?.hosts.toLocaleString('en');
  return (
    <Panel title="Hosts" aside={count && <span className="text-muted">{count}</span>}>
      {preview === undefined && <p className="text-muted">{scopeText(scope)}</p>}
      {preview?.hosts === 0 && <p className="text-muted">No host is in its scope.</p>}
      {preview && preview.hosts > 0 && (
        <ul className="flex max-h-40 flex-wrap gap-x-4 overflow-auto">
          {preview.hosts_shown.map(({ agent_id: id, hostname }) => (
            <li key={id}>
              <Link to="/hosts/$id" params={{ id }} className="inline-block min-h-7 leading-7 break-all">
                {hostname}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {preview && preview.hosts > preview.hosts_shown.length && (
        <p className="mt-1 text-muted">The first {preview.hosts_shown.length} by name.</p>
      )}
    </Panel>
  );
}
