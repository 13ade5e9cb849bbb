import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { CommandPayload, type Envelope, KeySetPayload, StatePayload } from '@tidegate/protocol/documents';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { Compile } from 'typebox/compile';
import { SYSTEMS, type System } from './fleet-inventory.ts';
import { parseJson } from './json-shape.ts';

const commandPayload = Compile(CommandPayload);
const keySetPayload = Compile(KeySetPayload);
const statePayload = Compile(StatePayload);

/** What a simulated host remembers between its requests. */
export type SimulatedAgent = {
  readonly index: number;
  readonly machineId: string;
  readonly hostname: string;
  readonly system: System;
  /** Null until it is enrolled. */
  session: { agentId: string; accessToken: string; refreshToken: string } | null;
  /** The renewal that has no good answer yet, and when it may be repeated. */
  renewal: { requestId: string; notBeforeMs: number } | null;
  /** Ids of commands to acknowledge at the next check-in. */
  received: string[];
  /** Commands that wait for their result. */
  commands: CommandPayload[];
  /** Ids of every command that was ever delivered. */
  readonly seen: Set<string>;
  /** SHA-256 of the last accepted inventory body, by ecosystem. */
  digests: Partial<Record<Ecosystem, string>>;
  /** Version of the newest key set that the server spoke of. */
  keySetVersion: number;
  /** What the server asked to be told at the last check-in. */
  wanted: Ecosystem[];
  /** Updates as the server knows them, by id. */
  updates: Map<string, InventoryUpdate>;
  /** Names of packages that were brought to their new version. */
  readonly updated: Set<string>;
};

/** A host that has never spoken to a server. `prefix` starts its machine id and its name. */
export function createSimulatedAgent(index: number, prefix: string): SimulatedAgent {
  const label = `${prefix}-${String(index).padStart(5, '0')}`;
  return {
    index,
    machineId: `machine-${label}`,
    hostname: `${label}.example.invalid`,
    system: SYSTEMS[index % SYSTEMS.length] ?? SYSTEMS[0],
    session: null,
    renewal: null,
    received: [],
    commands: [],
    seen: new Set(),
    digests: {},
    keySetVersion: 0,
    wanted: [],
    updates: new Map(),
    updated: new Set(),
  };
}

/**
 * Takes in the commands of a check-in; one that is redelivered is acknowledged again but not done again. Signatures
 * are not verified: this is load, not an agent. Returns how many envelopes held no well-formed command.
 */
export function takeCommands(agent: SimulatedAgent, envelopes: readonly Envelope[]): number {
  let malformed = 0;
  for (const envelope of envelopes) {
    const payload = payloadOf(envelope);
    if (!commandPayload.Check(payload) || payload.agent_id !== agent.session?.agentId) {
      malformed++;
      continue;
    }
    agent.received.push(payload.command_id);
    if (!agent.seen.has(payload.command_id)) agent.commands.push(payload);
    agent.seen.add(payload.command_id);
  }
  return malformed;
}

/** The version of the key set in the answer to a registration, or null where there is none to read. */
export function keySetVersionIn(envelope: Envelope): number | null {
  const payload = payloadOf(envelope);
  return keySetPayload.Check(payload) ? payload.version : null;
}

/** The version of the key set that the signed state of a check-in names, or null where there is none to read. */
export function keySetVersionNamed(state: Envelope): number | null {
  const payload = payloadOf(state);
  return statePayload.Check(payload) ? payload.key_set_version : null;
}

function payloadOf(envelope: Envelope): unknown {
  return parseJson(Buffer.from(envelope.payload, 'base64').toString('utf8'));
}
