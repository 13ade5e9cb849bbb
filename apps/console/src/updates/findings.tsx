import type { GateFinding, GateFix } from '@tidegate/protocol/approvals-api';
import type { ReactNode } from 'react';
import { ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { percent, vendorText } from './update-words.ts';

/** Vulnerabilities after the update, in the order of the server, the most severe first. */
export function FindingList({ findings }: { findings: readonly GateFinding[] }) {
  return (
    <ul className="divide-y divide-line">
      {findings.map((finding) => (
        <Vulnerability key={keyOf(finding)} one={finding}>
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

/** Advisory text is never a link. */
function Vulnerability({ one, children }: { one: GateFinding | GateFix; children: ReactNode }) {
  return (
    <li className="space-y-1 py-2 first:pt-0">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <CopyText text={one.id} label="Copy the id" />
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
          {one.package} {one.version}
        </span>
        <span className="text-muted">{children}</span>
      </p>
      {'vendor' in one && one.vendor && (
        <p className="text-muted">
          {vendorText(one.vendor)}
          {one.excuse?.by === 'vendor' && ' It does not stop this update.'}
        </p>
      )}
      {one.summary && <p className="break-words">{one.summary}</p>}
      {one.aliases.length > 0 && <p className="mono break-words text-muted">also {one.aliases.join(', ')}</p>}
    </li>
  );
}
