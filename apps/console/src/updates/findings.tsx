import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { AgentItem } from '@tidegate/protocol/agents-api';
import type { GateFinding, GateFix } from '@tidegate/protocol/approvals-api';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import type { VulnerabilityItem } from '@tidegate/protocol/vulnerabilities-api';
import type { ReactNode } from 'react';
import type { Page as ListPage } from '../api/client.ts';
import { oneQuery } from '../api/queries.ts';
import { ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { VULNERABILITIES } from '../vulnerabilities/vulnerability-rules.ts';
import { percent, STATUSES, vendorText } from './update-words.ts';

/** The host and the package manager of an update, for a statement about what it has. */
export type FoundIn = Pick<UpdateItem, 'agent_id' | 'ecosystem'>;

/**
 * Vulnerabilities after the update, in the order of the server, the most severe first. With `of` each one that counts
 * links to the statement that could excuse it.
 */
export function FindingList({
  findings,
  of,
}: {
  findings: readonly GateFinding[];
  of?: FoundIn | undefined;
}) {
  return (
    <ul className="divide-y divide-line">
      {findings.map((finding) => (
        <Vulnerability key={keyOf(finding)} one={finding} of={of}>
          {finding.in_closure === 'top' ? '' : ', a dependency'}
          {finding.fixed_in ? `, fixed in ${finding.fixed_in}` : ', no fixed version is known'}
        </Vulnerability>
      ))}
    </ul>
  );
}

/** Vulnerabilities of the versions on the host that the update removes. */
export function FixList({ fixes }: { fixes: readonly GateFix[] }) {
  return (
    <ul className="divide-y divide-line">
      {fixes.map((fix) => (
        <Vulnerability key={keyOf(fix)} one={fix}>
          , now on the host
        </Vulnerability>
      ))}
    </ul>
  );
}

function keyOf({ id, package: name, version }: GateFix): string {
  return `${id} ${name}@${version}`;
}

/** Text of an advisory is never a link: what leads on is the id in our own index. */
function Vulnerability({
  one,
  of,
  children,
}: {
  one: GateFinding | GateFix;
  of?: FoundIn | undefined;
  children: ReactNode;
}) {
  const page = usePage(one);
  const aliases = one.aliases.filter((alias) => alias !== page?.id);
  return (
    <li className="space-y-1 py-2 first:pt-0">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <CopyText text={one.id} label="Copy the id" />
        {page && <PageLink one={one} page={page.id} />}
        <SeverityBadge severity={one.severity ?? 'unknown'} />
        {one.kev && <ExploitedBadge />}
        {one.epss != null && (
          <span className="text-muted" title="How likely it is to be exploited in the next 30 days (EPSS)">
            EPSS {percent(one.epss)}
          </span>
        )}
      </p>
      <p className="break-words">
        <span className="mono">
          <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>
        </span>
        <span className="text-muted">{children}</span>
      </p>
      {'vendor' in one && one.vendor && (
        <p className="text-muted">
          {vendorText(one.vendor)}
          {one.excuse?.by === 'vendor' && ' It does not stop this update.'}
        </p>
      )}
      {'excuse' in one && one.excuse?.by === 'statement' && (
        <p className="text-muted">
          An operator's <Link to="/statements">statement</Link> says: {STATUSES[one.excuse.status]}. It does
          not stop this update.
        </p>
      )}
      {'excuse' in one && one.excuse === null && of && <StatementLink finding={one} of={of} />}
      {one.summary && <p className="break-words">{one.summary}</p>}
      {aliases.length > 0 && <p className="mono break-words text-muted">also {aliases.join(', ')}</p>}
    </li>
  );
}

/** The vulnerability in our index, if a host has it. */
function usePage({ id, package: name }: GateFix): VulnerabilityItem | undefined {
  // One request for each package, not for each of its findings; those after its most urgent 200 get no link.
  const { data } = useQuery(
    oneQuery<ListPage<VulnerabilityItem>>('advisories', VULNERABILITIES, {
      ...{ q: name.slice(0, 128), limit: 200 },
    }),
  );
  return data?.items.find((item) => item.id === id || item.names.includes(id));
}

function PageLink({ one, page }: { one: GateFix; page: string }) {
  return (
    <Link to="/vulnerabilities/$id" params={{ id: page }}>
      {page === one.id ? 'Hosts that have it' : page}
    </Link>
  );
}

/** Leads to the form for a statement about exactly this finding; apt and dnf packages are those of the host's distribution. */
function StatementLink({ finding, of }: { finding: GateFinding; of: FoundIn }) {
  const { agent_id: agentId, ecosystem } = of;
  const isOfSystem = ecosystem === 'apt' || ecosystem === 'dnf';
  const { data: host, isPending } = useQuery(
    oneQuery<AgentItem>('hosts', `/api/v1/agents/${encodeURIComponent(agentId)}`),
  );
  // Without its host the form would be about another scope than the finding.
  if (isPending) return null;
  const search = {
    ...{ vulnerability: finding.id, package: finding.package, version: finding.version, ecosystem },
    ...(isOfSystem && host && { distribution: host.os.id }),
    ...(host && { agent_id: host.id, hostname: host.hostname }),
  };
  return (
    <p>
      <Link to="/statements" search={search}>
        Not affected? Add a statement
      </Link>
    </p>
  );
}
