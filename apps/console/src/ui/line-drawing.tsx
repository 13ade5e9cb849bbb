import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Line } from './line.ts';

const HEIGHT = 220;
const DAY_MS = 86_400_000;

/** Draws a line chart; hidden from screen readers, as the caller shows the same numbers as text. */
export function LineDrawing({
  days,
  lines,
  format,
  steps,
}: {
  days: readonly string[];
  lines: readonly Line[];
  format: (value: number) => string;
  steps?: readonly number[] | undefined;
}) {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useColourScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read again when the scheme changes
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const text = colourOf(element, 'text-muted');
    const grid = { stroke: colourOf(element, 'text-line'), width: 1 };
    const axis = { stroke: text, grid, ticks: grid, font: '12px system-ui, sans-serif' };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
        scales: { y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(dayText) },
          {
            ...axis,
            size: 64,
            values: (_, ticks) => ticks.map(format),
            ...(steps ? { incrs: [...steps] } : {}),
          },
        ],
        series: [
          {},
          ...lines.map(({ tone, dash }) => ({
            stroke: colourOf(element, tone),
            width: 2,
            points: { show: days.length < 3 },
            ...(dash ? { dash: [...dash] } : {}),
          })),
        ],
      },
      [days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1_000), ...lines.map(({ values }) => [...values])],
      element,
    );
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [days, lines, format, steps, scheme]);
  return <div ref={place} aria-hidden="true" className="min-h-[220px] w-full overflow-hidden" />;
}

/** `21 Nov`; empty unless it is a whole day. */
function dayText(seconds: number): string {
  const ms = seconds * 1_000;
  if (ms % DAY_MS !== 0) return '';
  return new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
}

/** The colour of a class, resolved for the current theme, as the canvas needs it. */
function colourOf(element: HTMLElement, tone: string): string {
  const probe = document.createElement('span');
  probe.className = tone;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Changes whenever the theme does. */
function useColourScheme(): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const next = () => setCount((now) => now + 1);
    const media = matchMedia('(prefers-color-scheme: dark)');
    media.addEventListener('change', next);
    const observer = new MutationObserver(next);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      media.removeEventListener('change', next);
      observer.disconnect();
    };
  }, []);
  return count;
}
