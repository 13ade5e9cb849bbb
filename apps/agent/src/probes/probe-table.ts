import type { ProbeResult } from '@tidegate/protocol/probes';

/** What the probes say, a line each, for people. */
export function probeTable(probes: readonly ProbeResult[]): string {
  if (probes.length === 0) return 'root has named no probes on this host';
  const width = Math.max(...probes.map(({ name }) => name.length));
  return probes
    .map(({ name, kind = '', state, detail = '' }) =>
      `${state.padEnd(7)}  ${name.padEnd(width)}  ${kind.padEnd(12)}  ${detail}`.trimEnd(),
    )
    .join('\n');
}
