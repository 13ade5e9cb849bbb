import type { ReactNode } from 'react';

export interface SlotKind {
  readonly word: string;
  /** The drawing in a slot of 8 by 24; its shape alone shows the kind, without colour. */
  readonly shape: ReactNode;
}

export interface Slot {
  readonly kind: string;
  /** The time, shown on hover. */
  readonly title: string;
}

const WIDTH = 8;
const STEP = 11;
const HEIGHT = 24;

/** Equal time slots side by side, each with a shape and colour; a legend with counts is below. */
export function SlotStrip({
  slots,
  kinds,
  label,
}: {
  slots: readonly Slot[];
  kinds: Readonly<Record<string, SlotKind>>;
  label: string;
}) {
  const counts = Object.entries(kinds).map(([kind, { word, shape }]) => {
    const count = slots.filter((slot) => slot.kind === kind).length;
    return { kind, word, shape, count };
  });
  return (
    <div className="space-y-2">
      <svg
        role="img"
        aria-label={`${label}: ${counts.map(({ word, count }) => `${count} ${word}`).join(', ')}`}
        viewBox={`0 0 ${slots.length * STEP - (STEP - WIDTH)} ${HEIGHT}`}
        preserveAspectRatio="xMinYMid"
        className="h-8 w-full max-w-3xl"
      >
        {slots.map((slot, i) => (
          <g key={slot.title} transform={`translate(${i * STEP} 0)`}>
            <title>{`${slot.title}: ${kinds[slot.kind]?.word ?? slot.kind}`}</title>
            <rect width={WIDTH} height={HEIGHT} className="fill-transparent" />
            {kinds[slot.kind]?.shape}
          </g>
        ))}
      </svg>
      <ul className="flex flex-wrap gap-x-5 gap-y-1">
        {counts.map(({ kind, word, shape, count }) => (
          <li key={kind} className="inline-flex items-center gap-1.5">
            <svg aria-hidden="true" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="h-4 w-2">
              {shape}
            </svg>
            {count} {word}
          </li>
        ))}
      </ul>
    </div>
  );
}
