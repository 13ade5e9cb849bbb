import { CLOCK_SKEW_MS, timestamp } from '../../platform/clock.ts';
import { createKey, NOW_MS, revoked } from '../fleet.ts';
import type { JobWorld } from '../job-world.ts';
import { type Attack, carryOut, payloadText, reEnveloped } from './attack.ts';

const TAKEN_BACK_ID = '01900000-0000-7000-8000-0000000bac4e';
const MINUTE_MS = 60_000;
const next = createKey(2);

/** The state of a later version, or of somebody who tries what is read. */
const UNKNOWN_FIELD: object = { unlisted: true };

const approval = { token_id: TAKEN_BACK_ID };
const ago = (ms: number) => timestamp(NOW_MS - ms);

/** Both refuse for the same reason. */
const byState = (reason: string) => ({ agent: `state ${reason}`, executor: `state_refused ${reason}` });

/** The server takes the first key out of use, and this host learns of it. */
async function rotate(world: JobWorld): Promise<void> {
  const { fleet } = world;
  const both = fleet.keySet({ version: 2, keys: [fleet.key.entry, next.entry] });
  await carryOut(world, { keySet: both });
  const keySet = fleet.keySet({ version: 3, keys: [revoked(fleet.key.entry), next.entry], signedBy: next });
  await carryOut(world, { keySet, signedBy: next });
}

/** What the agent's user can do with an approval that it was given and that no longer stands (T12). */
export const WITHHELD: Attack[] = [
  {
    name: 'the job of an approval that was taken back after it was delivered',
    parts: ({ fleet }) => ({ approval, state: fleet.agentState({ revoked_tokens: [TAKEN_BACK_ID] }) }),
    ...byState('taken_back'),
  },
  {
    name: 'the same among as many as a state lists',
    parts: ({ fleet }) => {
      const others = Array.from(
        { length: 1_999 },
        (_, i) => `01900000-0000-7000-8000-${i.toString(16).padStart(12, '0')}`,
      );
      return { approval, state: fleet.agentState({ revoked_tokens: [...others, TAKEN_BACK_ID] }) };
    },
    ...byState('taken_back'),
  },
  {
    name: 'an approval that is too old for the list of those taken back',
    parts: ({ fleet }) => ({ state: fleet.agentState({ approvals_after: timestamp(NOW_MS) }) }),
    ...byState('approval_too_old'),
  },
  {
    name: 'no state: the newest one is withheld',
    parts: () => ({ state: null }),
    ...byState('absent'),
  },
  {
    name: 'a state of before the approval was taken back, though a newer one was shown',
    before: (world) =>
      carryOut(world, { state: world.fleet.agentState({ server_time: timestamp(NOW_MS + 1_000) }) }).then(
        () => {},
      ),
    ...byState('rolled_back'),
  },
  {
    name: 'a state that was kept for longer than the host allows',
    options: () => ({ nowMs: () => NOW_MS + 10 * MINUTE_MS + CLOCK_SKEW_MS + 1_000 }),
    ...byState('too_old'),
  },
  {
    name: 'a state that is older than the approval',
    parts: () => ({ approval: { issued_at: timestamp(NOW_MS + MINUTE_MS) } }),
    ...byState('older_than_approval'),
  },
  {
    name: 'a state of another fleet',
    parts: ({ fleet }) => ({ state: fleet.agentState({ fleet_id: fleet.agentId }) }),
    ...byState('wrong_fleet'),
  },
  {
    name: 'the state of another agent, which lists other approvals',
    parts: ({ fleet }) => ({ state: fleet.agentState({ agent_id: fleet.fleetId }) }),
    ...byState('wrong_agent'),
  },
  {
    name: 'the state of the fleet, which lists none',
    parts: ({ fleet }) => ({ state: fleet.state() }),
    ...byState('wrong_type'),
  },
  {
    name: 'a state whose list was shortened',
    parts: ({ fleet }) => ({ approval, state: fleet.agentState({ revoked_tokens: [TAKEN_BACK_ID] }) }),
    spoil: reEnveloped('state.json', (envelope) => {
      const content = { ...JSON.parse(payloadText(envelope)), revoked_tokens: [] };
      return { ...envelope, payload: Buffer.from(JSON.stringify(content)).toString('base64') };
    }),
    ...byState('bad_signature'),
  },
  {
    name: 'a state without its signature',
    spoil: reEnveloped('state.json', (envelope) => ({ ...envelope, signatures: [] })),
    ...byState('unsigned'),
  },
  {
    name: 'a state with a field that this version does not know',
    parts: ({ fleet }) => ({ state: fleet.agentState({ ...UNKNOWN_FIELD }) }),
    ...byState('malformed'),
  },
  {
    name: 'a state by a key that was revoked',
    before: rotate,
    parts: ({ fleet }) => ({ signedBy: next, state: fleet.agentState({ key_set_version: 3 }) }),
    ...byState('bad_signature'),
  },
  {
    name: 'a state of before the revocation of a key',
    before: rotate,
    parts: ({ fleet }) => ({ signedBy: next, state: fleet.agentState({ key_set_version: 2 }, next) }),
    ...byState('stale_keys'),
  },
  {
    name: 'a job whose key set was withheld: a key is revoked in the newest',
    parts: ({ fleet }) => ({ state: fleet.agentState({ key_set_version: 2 }) }),
    ...byState('newer_keys'),
  },
  {
    name: 'a state from before the server was restored',
    before: async (world) => void (await carryOut(world, { command: { epoch: 2, seq: 1 } })),
    parts: ({ fleet }) => ({ command: { epoch: 2, seq: 2 }, state: fleet.agentState({ epoch: 1 }) }),
    ...byState('stale_epoch'),
  },
  {
    name: 'a state that was kept, on a host whose clock was set back',
    before: (world) =>
      carryOut(world, {
        state: world.fleet.agentState({ server_time: timestamp(NOW_MS + 60 * MINUTE_MS) }),
      }).then(() => {}),
    options: () => ({ nowMs: () => NOW_MS - 60 * MINUTE_MS }),
    parts: ({ fleet }) => ({ state: fleet.agentState({ server_time: ago(0) }) }),
    ...byState('rolled_back'),
  },
];
