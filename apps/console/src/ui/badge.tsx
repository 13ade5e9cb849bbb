import type { UpdateState, VulnerabilityVerdict } from '@tidegate/protocol/states';
import {
  Ban,
  Check,
  CircleDashed,
  CircleHelp,
  Clock,
  Download,
  Flame,
  Minus,
  OctagonAlert,
  TriangleAlert,
  X,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { None } from './none.tsx';

export type BadgeTone = 'good' | 'bad' | 'warn' | 'unknown' | 'neutral' | 'accent';

/** Background and text of each tone. */
export const TONES: Readonly<Record<BadgeTone, string>> = {
  good: 'bg-good-soft text-good',
  bad: 'bg-bad-soft text-bad',
  warn: 'bg-warn-soft text-warn',
  unknown: 'bg-unknown-soft text-unknown',
  neutral: 'bg-sunken text-muted',
  accent: 'bg-accent-soft text-accent',
};

/** Colour, shape and word: never colour alone. The word is on the line of the text around it. */
export function Badge({
  tone,
  icon,
  children,
  title,
}: {
  tone: BadgeTone;
  icon?: ReactNode;
  children: ReactNode;
  title?: string;
}) {
  return (
    <span
      title={title}
      className={`inline-flex items-baseline gap-1 rounded-full px-2 py-0.5 text-[0.83rem] leading-5 font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {icon && (
        <span aria-hidden="true" className="self-center [&>svg]:size-3.5">
          {icon}
        </span>
      )}
      {children}
    </span>
  );
}

const VERDICTS: Readonly<Record<VulnerabilityVerdict, { tone: BadgeTone; icon: ReactNode; word: string }>> = {
  clear: { tone: 'good', icon: <Check />, word: 'clear' },
  vulnerable: { tone: 'bad', icon: <TriangleAlert />, word: 'vulnerable' },
  unchecked: { tone: 'unknown', icon: <CircleHelp />, word: 'unchecked' },
};

/** The verdict on the closure; null means not judged yet, which is not the same as clear. */
export function VerdictBadge({ verdict }: { verdict: VulnerabilityVerdict | null }) {
  if (verdict === null)
    return (
      <Badge tone="neutral" icon={<CircleDashed />}>
        not judged
      </Badge>
    );
  const { tone, icon, word } = VERDICTS[verdict];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}

const STATES: Readonly<Record<UpdateState, { tone: BadgeTone; icon: ReactNode; word: string }>> = {
  pending: { tone: 'neutral', icon: <Clock />, word: 'pending' },
  awaiting_plan: { tone: 'accent', icon: <CircleDashed />, word: 'awaiting plan' },
  approved: { tone: 'accent', icon: <Check />, word: 'approved' },
  installing: { tone: 'accent', icon: <Download />, word: 'installing' },
  installed: { tone: 'good', icon: <Check />, word: 'installed' },
  failed: { tone: 'bad', icon: <X />, word: 'failed' },
  rejected: { tone: 'neutral', icon: <Ban />, word: 'rejected' },
  superseded: { tone: 'neutral', icon: <Minus />, word: 'superseded' },
};

export function StateBadge({ state }: { state: UpdateState }) {
  const { tone, icon, word } = STATES[state];
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  );
}

const SEVERITIES: Readonly<Record<string, BadgeTone>> = {
  critical: 'bad',
  high: 'bad',
  medium: 'warn',
  low: 'neutral',
  none: 'neutral',
};

/** Null if nothing was found or checked; `unknown` if a record states no severity. */
export function SeverityBadge({ severity }: { severity: string | null }) {
  if (severity === null || severity === 'none') return <None word="–" />;
  const icon = severity === 'critical' ? <OctagonAlert /> : <TriangleAlert />;
  return (
    <Badge tone={SEVERITIES[severity] ?? 'unknown'} icon={icon}>
      {severity}
    </Badge>
  );
}

/** Known to be exploited (KEV). */
export function ExploitedBadge() {
  return (
    <Badge tone="bad" icon={<Flame />} title="In CISA's catalogue of known exploited vulnerabilities">
      exploited
    </Badge>
  );
}
