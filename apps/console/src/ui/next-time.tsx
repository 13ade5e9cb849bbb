import { Time, useNow } from './time.tsx';

/** When something is next: a time to come, or that it is due. */
export function NextTime({ what = 'next', at }: { what?: string; at: string }) {
  const isDue = Date.parse(at) <= useNow();
  return (
    <p className="text-muted">
      {what} {isDue ? 'is due' : <Time at={at} />}
    </p>
  );
}
