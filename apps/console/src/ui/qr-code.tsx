import { encode } from 'uqr';

/** Text as a QR code, dark on light in both themes, as scanners need it. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      className="size-48 rounded bg-white"
      shapeRendering="crispEdges"
    >
      <path d={path.join('')} fill="#000" />
    </svg>
  );
}
