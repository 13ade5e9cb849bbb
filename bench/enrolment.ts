import { setTimeout as pause } from 'node:timers/promises';
import { RegisterAnswer } from '@tidegate/protocol/agent-api';
import { CreatedRegistrationToken, RegistrationTokenItem, SEATS_MAX } from '@tidegate/protocol/enrolment-api';
import { Value } from 'typebox/value';
import { addressOf, askAlone } from './ask-alone.ts';
import { checkInRequest } from './check-in.ts';
import { type BenchAgent, type BenchServer, startFleet } from './fleet.ts';
import { CONNECTIONS } from './floor.ts';
import { formRequest } from './form-request.ts';
import { runLoad } from './load.ts';
import { logIn } from './operator-client.ts';
import { memoryOf } from './processes.ts';
import { flagsOf } from './rounds.ts';
import { cpuBetween, pointOf, type Scenario } from './scenario.ts';

const TOKENS = '/api/v1/admin/registration-tokens';
/** Hosts that ask at once, as a tool that installs many asks. */
const AT_ONCE = 64;
const TIMEOUT_MS = 45_000;
const FIRST_CHECK_INS_SECONDS = 600;

/**
 * Hosts that enrol with one token, each on a connection and from an address of its own, 64 at once; a host that is asked to come later does.
 * Fails unless each takes one seat and its first check-in is answered.
 */
export const measureEnrolment: Scenario = async (of, { floor, options }) => {
  const hosts = Math.min(of.agents, SEATS_MAX);
  const fleet = await startFleet(of.engine, { agents: 0, nodeFlags: flagsOf(of.engine) });
  if ('missing' in fleet) return fleet;
  try {
    const call = await logIn(fleet.url);
    const made = await call('POST', TOKENS, { label: 'storm', seats: hosts });
    const { id, token } = Value.Parse(CreatedRegistrationToken, made);
    const helloUs = [await floor.costUs(options.seconds)];
    const before = fleet.cpuUs();
    const { enrolled, tookMs, seconds, refused } = await storm(fleet, { hosts, token });
    const cpu = cpuBetween(before, fleet.cpuUs());
    helloUs.push(await floor.costUs(options.seconds));
    options.say(
      `${of.engine}: ${hosts} hosts enrolled in ${seconds.toFixed(1)} s; refused: ${JSON.stringify(refused)}`,
    );
    const { seats_used } = Value.Parse(RegistrationTokenItem, await call('GET', `${TOKENS}/${id}`));
    if (seats_used !== hosts || enrolled.length !== hosts)
      throw new Error(`${enrolled.length} of ${hosts} hosts enrolled, with ${seats_used} seats`);
    await checkInOnce(fleet, enrolled);
    const rssMb = Math.round(memoryOf(fleet.pid).rssKb / 1_024);
    return [pointOf({ of, scenario: 'enrolment', tookMs, seconds, cpu, helloUs, rssMb })];
  } finally {
    await fleet.stop();
  }
};

async function storm({ url }: BenchServer, { hosts, token }: { hosts: number; token: string }) {
  const { hostname: host, port } = new URL(url);
  const enrolled: BenchAgent[] = [];
  const tookMs: number[] = [];
  const refused: Record<string, number> = {};
  let next = 0;
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let index = next++; index < hosts; index = next++) {
        const startMs = performance.now();
        const machineId = `storm-${index}`;
        const request = registerRequest({ machineId, token });
        for (;;) {
          const address = addressOf(index);
          const answer = await askAlone({
            host,
            port: Number(port),
            address,
            request,
            timeoutMs: TIMEOUT_MS,
          });
          if (answer.status === '201') {
            const body = Value.Parse(RegisterAnswer, JSON.parse(answer.body));
            enrolled.push({
              ...{ agentId: body.agent_id, machineId },
              ...{ token: body.access_token, refreshToken: body.refresh_token },
            });
            break;
          }
          refused[answer.status] = (refused[answer.status] ?? 0) + 1;
          // Anything but "later" is a fault: a host that has no answer cannot know whether it has enrolled.
          if (answer.retryAfterMs === null) throw new Error(`${answer.status}: ${answer.body}`);
          await pause(answer.retryAfterMs);
        }
        tookMs.push(performance.now() - startMs);
      }
    }),
  );
  return { enrolled, tookMs, refused, seconds: (performance.now() - beganMs) / 1_000 };
}

function registerRequest({ machineId, token }: { machineId: string; token: string }): Buffer {
  const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };
  return formRequest('POST', '/api/v1/agents/register', {
    headers: { authorization: `Bearer ${token}`, 'x-machine-id': machineId, connection: 'close' },
    body: JSON.stringify({ hostname: `${machineId}.example`, os, agent_version: '1.0.0' }),
  });
}

async function checkInOnce({ url }: BenchServer, enrolled: readonly BenchAgent[]): Promise<void> {
  const { requests, refused } = await runLoad({
    ...{ url, connections: CONNECTIONS, seconds: FIRST_CHECK_INS_SECONDS },
    requests: enrolled.map(checkInRequest),
    maxRequests: enrolled.length,
  });
  if (requests !== enrolled.length || Object.keys(refused).length > 0)
    throw new Error(`${requests} first check-ins of ${enrolled.length} hosts: ${JSON.stringify(refused)}`);
}
