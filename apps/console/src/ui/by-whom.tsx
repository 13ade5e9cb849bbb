import { Time } from './time.tsx';

/** Who did something, bounded: the name of an operator may be long. */
export function By({ name }: { name: string }) {
  return (
    <bdi className="inline-block max-w-40 truncate align-bottom" title={name}>
      {name}
    </bdi>
  );
}

/** Who made something, and when: one column of a table. */
export function ByWhom({ by, at }: { by: string; at: string }) {
  return (
    <>
      <By name={by} />
      <p className="text-muted">
        <Time at={at} />
      </p>
    </>
  );
}
