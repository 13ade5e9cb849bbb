import type { Line } from './line.ts';

const WIDTH = 1_000;
const HEIGHT = 200;

/** The lines without axes, all on one scale from zero; null is a gap. */
export function PlainLines({ lines }: { lines: readonly Line[] }) {
  const top = Math.max(1, ...lines.flatMap(({ values }) => values.filter((value) => value !== null)));
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      className="h-[220px] w-full border-b border-line"
    >
      {lines.map(({ id, tone, dash, values }) => (
        <path
          key={id}
          d={pathOf(values, top)}
          className={tone}
          fill="none"
          stroke="currentColor"
          strokeWidth="2"
          vectorEffect="non-scaling-stroke"
          {...(dash ? { strokeDasharray: dash.join(' ') } : {})}
        />
      ))}
    </svg>
  );
}

function pathOf(values: readonly (number | null)[], top: number): string {
  const step = WIDTH / Math.max(1, values.length - 1);
  const heightOf = (value: number) => (HEIGHT - (value / (top * 1.1)) * HEIGHT).toFixed(1);
  const [only] = values;
  // A single day makes no line: it is drawn as a horizontal one.
  if (values.length === 1) return only == null ? '' : `M0 ${heightOf(only)}H${WIDTH}`;
  return values
    .map((value, i) => {
      if (value === null) return '';
      const isBegin = i === 0 || values[i - 1] === null;
      return `${isBegin ? 'M' : 'L'}${(i * step).toFixed(1)} ${heightOf(value)}`;
    })
    .join('');
}
