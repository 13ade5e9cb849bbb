import type { GateFinding } from '@tidegate/protocol/approvals-api';
import { ExploitedBadge, SeverityBadge } from '../ui/badge.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { percent, vendorText } from './update-words.ts';

/** Findings in the order of the server, the most severe first. Advisory text is never a link. */
export function FindingList({ findings }: { findings: readonly GateFinding[] }) {
  return (
    <ul className="divide-y divide-line">
      {findings.map((finding) => (
        <li key={`${finding.id} ${finding.package}@${finding.version}`} className="space-y-1 py-2 first:pt-0">
          <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <CopyText text={finding.id} label="Copy the id" />
            <SeverityBadge severity={finding.severity ?? 'unknown'} />
            {finding.kev && <ExploitedBadge />}
            {finding.epss != null && (
              <span
                className="text-muted"
                title="How likely it is to be exploited in the next 30 days (EPSS)"
              >
                EPSS {percent(finding.epss)}
              </span>
            )}
          </p>
          <p className="break-words">
            <span className="mono">
              {finding.package} {finding.version}
            </span>
            <span className="text-muted">
              {finding.in_closure === 'top' ? '' : ', a dependency'}
              {finding.fixed_in ? `, fixed in ${finding.fixed_in}` : ', no fixed version is known'}
            </span>
          </p>
          {finding.vendor && (
            <p className="text-muted">
              {vendorText(finding.vendor)}
              {finding.excuse?.by === 'vendor' && ' It does not stop this update.'}
            </p>
          )}
          {finding.summary && <p className="break-words">{finding.summary}</p>}
          {finding.aliases.length > 0 && (
            <p className="mono break-words text-muted">also {finding.aliases.join(', ')}</p>
          )}
        </li>
      ))}
    </ul>
  );
}
