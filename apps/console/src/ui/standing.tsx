import { Badge } from './badge.tsx';
import { Time } from './time.tsx';

/** Whether something that an admin signed for a time is in force, and since when it is not. */
export function Standing({
  of: { state, ends_at, ended_at, ended_by },
}: {
  of: {
    readonly state: 'in_force' | 'expired' | 'revoked';
    readonly ends_at: string;
    readonly ended_at: string | null;
    readonly ended_by: string | null;
  };
}) {
  switch (state) {
    case 'in_force':
      return (
        <>
          in force, ends <Time at={ends_at} />
        </>
      );
    case 'expired':
      return (
        <>
          <Badge tone="neutral">expired</Badge> <Time at={ends_at} />
        </>
      );
    case 'revoked':
      return (
        <>
          <Badge tone="neutral">revoked</Badge> by <bdi>{ended_by}</bdi> <Time at={ended_at} />
        </>
      );
  }
}
