/** A small line chart; the caller shows the last value as text beside it. Null is a gap. */
export function Sparkline({
  values,
  label,
  width = 120,
  height = 28,
}: {
  values: readonly (number | null)[];
  label: string;
  width?: number;
  height?: number;
}) {
  const known = values.filter((value) => value !== null);
  const top = Math.max(1, ...known);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  let isDown = false;
  const path = values.map((value, i) => {
    if (value === null) {
      isDown = false;
      return '';
    }
    const point = `${isDown ? 'L' : 'M'}${(i * step).toFixed(1)} ${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`;
    isDown = true;
    return point;
  });
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${width} ${height}`}
      width={width}
      height={height}
      className="text-accent"
    >
      <path
        d={path.join('')}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.75"
        strokeLinejoin="round"
        strokeLinecap="round"
      />
    </svg>
  );
}
