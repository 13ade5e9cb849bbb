import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { checkInRequest } from './check-in.ts';
import { type BenchAgent, IDLE_CHECK_IN } from './fleet.ts';
import { agentRequest } from './form-request.ts';

/** A host that checks in for commands, and says at its next check-in which it has. */
export interface WaitingHost {
  readonly agent: BenchAgent;
  /** Of all commands so far. */
  readonly commandIds: string[];
  request(): Buffer;
  read(answer: string): void;
}

export function createWaitingHost(agent: BenchAgent): WaitingHost {
  const commandIds: string[] = [];
  let received: string[] = [];
  return {
    agent,
    commandIds,
    request() {
      if (received.length === 0) return checkInRequest(agent);
      const body = JSON.stringify({ ...JSON.parse(IDLE_CHECK_IN), received });
      return agentRequest(agent, { method: 'POST', path: '/check-in', body });
    },
    read(answer) {
      const { commands } = Value.Parse(CheckInAnswer, JSON.parse(answer));
      received = commands.map(({ payload }) => {
        const signed: unknown = JSON.parse(Buffer.from(payload, 'base64').toString());
        return Value.Parse(CommandPayload, signed).command_id;
      });
      commandIds.push(...received);
    },
  };
}
