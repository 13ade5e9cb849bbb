import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import type { BareAgent } from './bare-agent.ts';
import { fieldsOf } from './forge.ts';
import { expectAnswer } from './operator.ts';

/** Checks in, says that it has `received` these, and reads the commands that the server gives. */
export async function fetchCommands(
  agent: BareAgent,
  { received = [], agentVersion = '0.1.0' }: { received?: readonly string[]; agentVersion?: string } = {},
): Promise<CommandPayload[]> {
  const request = {
    ...{ agent_version: agentVersion, boot_id: 'boot', uptime_seconds: 1, received },
    ...{ key_set_version: 1, inventory_digest: {} },
  };
  const { commands } = expectAnswer(await agent.call('POST', '/check-in', request), 200, CheckInAnswer);
  return commands.map((envelope) => Value.Parse(CommandPayload, fieldsOf(envelope)));
}
