import {
  CheckInAnswer,
  InventoryAnswer,
  type InventoryReport,
  RegisterAnswer,
} from '@tidegate/protocol/agent-api';
import type { TSchema } from 'typebox';
import { type Answer, expectAnswer } from './operator.ts';

/** An agent that only sends requests, for requests that the real one would never send. */
export type BareAgent = {
  readonly agentId: string;
  readonly accessToken: string;
  readonly machineId: string;
  report(body: InventoryReport): Promise<Answer>;
  call(method: string, path: string, body: unknown): Promise<Answer>;
};

/** Enrols a host of any name and binds it. */
export async function enrolBareAgent(
  url: string,
  host: {
    registrationToken: string;
    machineId: string;
    hostname: string;
    /** Debian 12 unless given. */
    system?: { id: string; version_id: string };
  },
): Promise<BareAgent> {
  const { registrationToken, machineId, hostname, system = { id: 'debian', version_id: '12' } } = host;
  const os = { family: 'linux', arch: 'amd64', ...system };
  const send = async (method: string, path: string, body: unknown, bearer: string): Promise<Answer> => {
    const response = await fetch(`${url}/api/v1/agents${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${bearer}`,
        'x-machine-id': machineId,
      },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? null : JSON.parse(text);
    return { status: response.status, body: parsed };
  };
  const good = async <T extends TSchema>(answer: Answer, status: number, schema: T) =>
    expectAnswer(answer, status, schema);

  const registration = { hostname, os, agent_version: '0.1.0' };
  const registered = await good(
    await send('POST', '/register', registration, registrationToken),
    201,
    RegisterAnswer,
  );
  const { agent_id: agentId, access_token: accessToken } = registered;
  const call: BareAgent['call'] = (method, path, body) =>
    send(method, `/${agentId}${path}`, body, accessToken);
  const first = {
    agent_version: '0.1.0',
    boot_id: 'boot',
    uptime_seconds: 1,
    received: [],
    key_set_version: 1,
    inventory_digest: {},
  };
  await good(await call('POST', '/check-in', first), 200, CheckInAnswer);
  return {
    agentId,
    accessToken,
    machineId,
    call,
    report: async (body) => {
      const answer = await call('PUT', '/inventory/apt', body);
      if (answer.status === 200) expectAnswer(answer, 200, InventoryAnswer);
      return answer;
    },
  };
}
