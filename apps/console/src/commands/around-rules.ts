import type { HookRun, ProbesAround } from '@tidegate/protocol/probes';

/** Of a hook, whether it did what an installation needs of it, in words. */
export const HOOK_OUTCOMES: Readonly<Record<HookRun['outcome'], string>> = {
  ok: 'success',
  failed: 'failed',
  timed_out: 'took too long',
};

/** `took 2 min 5 s` */
export function tookText(seconds: number): string {
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  if (seconds < 1) return 'took less than 1 s';
  const parts = [...(minutes > 0 ? [`${minutes} min`] : []), ...(rest > 0 ? [`${rest} s`] : [])];
  return `took ${parts.join(' ')}`;
}

/** What the probes said before an installation, in a sentence; the states are counted, the worst first. */
export function beforeText({ before }: ProbesAround): string {
  if (before === undefined) return 'Nobody had run the probes before it.';
  if (before.probes.length === 0) return 'Root had named no probes.';
  const parts = (['red', 'unknown', 'green'] as const).flatMap((wanted) => {
    const count = before.probes.filter(({ state }) => state === wanted).length;
    return count === 0 ? [] : [`${count} ${wanted}`];
  });
  return `Probes before it: ${parts.join(', ')}.`;
}
