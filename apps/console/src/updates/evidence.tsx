import type { GateReport } from '@tidegate/protocol/approvals-api';
import { CircleCheck, CircleDashed, CircleHelp, OctagonX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Term } from '../glossary/term.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Panel } from '../ui/page.tsx';
import { duration } from '../ui/relative-time-rules.ts';
import { Time } from '../ui/time.tsx';
import type { FoundIn } from './findings.tsx';
import { VerdictParts } from './verdict-parts.tsx';

const HOUR_MS = 3_600_000;

/** The known vulnerabilities of the closure: what the update introduces, what stays, and what it fixes. */
export function Vulnerabilities({ gate, of }: { gate: GateReport; of: FoundIn }) {
  const isChecked = gate.verdict !== 'unchecked' && gate.unchecked === null;
  return (
    <Panel title="Known vulnerabilities">
      <VerdictParts parts={gate} isChecked={isChecked} of={of} />
    </Panel>
  );
}

/** The release times that the age rule used (A7), with their sources. */
export function ReleaseTimes({ gate: { age } }: { gate: GateReport }) {
  if (!age || (age.times.length === 0 && age.violations.length === 0)) return null;
  const young = new Map(age.violations.map((one) => [`${one.package}/${one.version}`, one]));
  const unsaid = age.violations.filter(
    (one) => !age.times.some((time) => time.package === one.package && time.version === one.version),
  );
  return (
    <Panel title="Release times">
      <ul className="space-y-1.5">
        {age.times.map((time) => {
          const violation = young.get(`${time.package}/${time.version}`);
          return (
            <li key={`${time.package}@${time.version}`} className="flex flex-wrap items-center gap-x-2">
              <span className="mono">
                <bdi>{time.package}</bdi> <bdi>{time.version}</bdi>
              </span>
              <span className="text-muted">
                released <Time at={time.published_at} empty="at a time that is not known" />, according to{' '}
                {time.source}
              </span>
              {violation && <AgeBadge hours={violation.age_hours} minimum={age.minimum_hours} />}
            </li>
          );
        })}
        {unsaid.map((one) => (
          <li key={`${one.package}@${one.version}`} className="flex flex-wrap items-center gap-x-2">
            <span className="mono">
              <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>
            </span>
            <AgeBadge hours={one.age_hours} minimum={age.minimum_hours} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function AgeBadge({ hours, minimum }: { hours: number | null; minimum: number }) {
  if (hours === null)
    return (
      <Badge tone="unknown" icon={<CircleHelp />}>
        age not known
      </Badge>
    );
  return (
    <Badge tone="warn" icon={<TriangleAlert />}>
      {duration(hours * HOUR_MS)} old, {minimum} h required
    </Badge>
  );
}

type Provenance = GateReport['provenance'][number];

const PROVENANCE: Readonly<Record<Provenance['status'], { tone: BadgeTone; icon: ReactNode; word: string }>> =
  {
    verified: { tone: 'good', icon: <CircleCheck />, word: 'verified' },
    unverified: { tone: 'warn', icon: <TriangleAlert />, word: 'not verified' },
    absent: { tone: 'neutral', icon: <CircleDashed />, word: 'none' },
    unknown: { tone: 'unknown', icon: <CircleHelp />, word: 'not known' },
    mismatch: { tone: 'bad', icon: <OctagonX />, word: 'for another artifact' },
  };

/** The provenance of new versions, as their registry attests it; it never blocks an update. */
export function ProvenanceList({ gate: { provenance } }: { gate: GateReport }) {
  if (provenance.length === 0) return null;
  return (
    <Panel title="Provenance" aside={<Term of="attestation">What this is</Term>}>
      <ul className="space-y-1.5">
        {provenance.map((one) => {
          const { tone, icon, word } = PROVENANCE[one.status];
          return (
            <li key={`${one.package}@${one.version}`} className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <span className="mono">
                <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>
              </span>
              <Badge tone={tone} icon={icon}>
                {word}
              </Badge>
              {one.dropped && (
                <Badge tone="warn" icon={<TriangleAlert />}>
                  the previous version had it
                </Badge>
              )}
              {one.source_repository && (
                <span className="break-all text-muted">
                  from <span className="mono">{one.source_repository}</span>
                </span>
              )}
              {one.builder && <span className="mono break-all text-muted">{one.builder}</span>}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

/** When the fleet first had the versions that are new to this host. */
export function FirstSeen({ gate: { first_seen: seen } }: { gate: GateReport }) {
  if (seen.length === 0) return null;
  return (
    <Panel title="First seen in the fleet">
      <ul className="space-y-1">
        {seen.map((one) => (
          <li key={`${one.package}@${one.version}`} className="flex flex-wrap justify-between gap-x-4">
            <span className="mono">
              <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>
            </span>
            <Time at={one.first_seen_at} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
