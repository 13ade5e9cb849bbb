import { useQuery } from '@tanstack/react-query';
import type { SessionAnswer } from '@tidegate/protocol/operators-api';
import type { Role } from '@tidegate/protocol/states';
import { oneQuery } from './queries.ts';

export const sessionQuery = { ...oneQuery<SessionAnswer>('session', '/api/v1/auth/session'), retry: false };

const RANK: Readonly<Record<Role, number>> = { viewer: 0, approver: 1, admin: 2 };

/** The session and its role. The server enforces permissions; this only decides what is offered. */
export function useSession() {
  const { data } = useQuery(sessionQuery);
  const role = data?.operator.role ?? 'viewer';
  return {
    session: data ?? null,
    role,
    /** The groups whose hosts the operator may see; null means the whole fleet. */
    groups: data?.operator.groups ?? null,
    may: (needed: Role) => RANK[role] >= RANK[needed],
  };
}
