import { CommandResult } from '@tidegate/protocol/agent-api';
import { strict } from '@tidegate/protocol/scalars';
import type { Static } from 'typebox';
import { Value } from 'typebox/value';

const { boot_id, blockers, units, retry_at } = CommandResult.properties;

/** What a host says of a reboot or a restart of services beyond its status. */
const CommandAnswer = strict({ boot_id, blockers, units, retry_at });
export type CommandAnswer = Static<typeof CommandAnswer>;

/** Nothing, where the host said nothing. */
export function readAnswer({ answer }: { answer: string | null }): CommandAnswer {
  return answer === null ? {} : Value.Parse(CommandAnswer, JSON.parse(answer));
}
