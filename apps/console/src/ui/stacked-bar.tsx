import type { ReactNode } from 'react';

export type BarTone = 'good' | 'bad' | 'unknown' | 'neutral';

export interface BarPart {
  readonly id: string;
  readonly word: string;
  readonly count: number;
  readonly tone: BarTone;
  /** The same count as a link. */
  readonly label?: ReactNode;
}

const FILLS: Readonly<Record<BarTone, string>> = {
  good: 'fill-good',
  bad: 'fill-bad',
  unknown: 'fill-unknown',
  neutral: 'fill-line-strong',
};
const SWATCHES: Readonly<Record<BarTone, string>> = {
  good: 'bg-good',
  bad: 'bg-bad',
  unknown: 'bg-unknown',
  neutral: 'bg-line-strong',
};
const WIDTH = 1_000;
const GAP = 3;

/** Parts of a whole as one bar, with labels and counts below. */
export function StackedBar({ parts, label }: { parts: readonly BarPart[]; label: string }) {
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const shown = parts.filter(({ count }) => count > 0);
  let x = 0;
  return (
    <div className="space-y-3">
      <svg
        role="img"
        aria-label={`${label}: ${parts.map(({ count, word }) => `${count} ${word}`).join(', ')}`}
        viewBox={`0 0 ${WIDTH} 22`}
        preserveAspectRatio="none"
        className="h-5.5 w-full rounded"
      >
        {total === 0 && <rect width={WIDTH} height="22" className="fill-sunken" />}
        {shown.map(({ id, count, tone }) => {
          const width = (count / total) * WIDTH;
          const from = x;
          x += width;
          return (
            <rect key={id} x={from} width={Math.max(width - GAP, 1)} height="22" className={FILLS[tone]} />
          );
        })}
      </svg>
      <ul className="flex flex-wrap gap-x-5 gap-y-1">
        {parts.map(({ id, word, count, tone, label: shownAs }) => (
          <li key={id} className="inline-flex items-center gap-2">
            <span aria-hidden="true" className={`size-2.5 rounded-sm ${SWATCHES[tone]}`} />
            {shownAs ?? (
              <span>
                {count.toLocaleString('en')} {word}
              </span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
