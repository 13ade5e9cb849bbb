import { type Static, Type } from 'typebox';
import { Count, GroupName, nullable, strict, Uuid } from './scalars.ts';

/** Most hosts that one request moves. */
export const MOVE_MAX_HOSTS = 1_000;

/** A group, or null: in none. */
export const GroupOrNone = nullable(GroupName);

/** What an operator changes of one host. */
export const AgentChange = strict({ group: GroupOrNone });
export type AgentChange = Static<typeof AgentChange>;

export const MoveHostsRequest = strict({
  agent_ids: Type.Array(Uuid, { minItems: 1, maxItems: MOVE_MAX_HOSTS, uniqueItems: true }),
  group: GroupOrNone,
});
export type MoveHostsRequest = Static<typeof MoveHostsRequest>;

/** Hosts that were in the group already are in neither list. */
export const MoveHostsAnswer = strict({ moved: Type.Array(Uuid), not_found: Type.Array(Uuid) });
export type MoveHostsAnswer = Static<typeof MoveHostsAnswer>;

/** A group is there as long as a host is in it. */
export const GroupItem = strict({
  name: GroupName,
  hosts: Count,
  updates_pending: Type.Integer({ minimum: 0, description: 'updates of its hosts that await a decision' }),
});
export type GroupItem = Static<typeof GroupItem>;
