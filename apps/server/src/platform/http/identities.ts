declare const brand: unique symbol;
/** Keeps values of one primitive type apart. */
type Branded<T, B extends string> = T & { readonly [brand]: B };

export type AgentId = Branded<string, 'AgentId'>;
export type MachineId = Branded<string, 'MachineId'>;
export type OperatorRole = 'viewer' | 'approver' | 'admin';

const RANK: Readonly<Record<OperatorRole, number>> = { viewer: 0, approver: 1, admin: 2 };

/** Whether a role may do everything that another role may. */
export function roleIncludes(role: OperatorRole, needed: OperatorRole): boolean {
  return RANK[role] >= RANK[needed];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isAgentId(text: string): text is AgentId {
  return UUID.test(text);
}

/** 1 to 128 visible ASCII characters (R1). */
export function isMachineId(text: unknown): text is MachineId {
  return typeof text === 'string' && /^[\x21-\x7e]{1,128}$/.test(text);
}
