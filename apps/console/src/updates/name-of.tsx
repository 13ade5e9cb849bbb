import type { Known } from './bulk-rules.ts';

/** The name of an update if it was on screen; otherwise the start of its id. */
export function NameOf({ id, known }: { id: string; known: Known }) {
  const update = known.get(id);
  if (!update) return `update ${id.slice(0, 8)}`;
  return (
    <>
      <bdi>{update.name}</bdi> on <bdi>{update.hostname}</bdi>
    </>
  );
}
