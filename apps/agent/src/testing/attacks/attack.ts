import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMMAND_TYPE, type Envelope } from '@tidegate/protocol/documents';
import { signEnvelope } from '@tidegate/signing/sign';
import type { ExecuteOptions } from '../../executor/execute.ts';
import type { TestKey } from '../fleet.ts';
import type { JobParts, JobWorld } from '../job-world.ts';

/** What somebody does who can speak for the server, sit on the line, or write what the agent's user writes. */
export interface Attack {
  name: string;
  /** What this host has been through before. */
  before?: (world: JobWorld) => Promise<void> | void;
  /** The job that is left, where it is not a good one. */
  parts?: (world: JobWorld) => JobParts;
  /** What is done to the files of the job then. */
  spoil?: (job: string, world: JobWorld) => void;
  options?: (world: JobWorld) => Partial<ExecuteOptions>;
  /** What the agent says; `ok` where an honest agent would not have left such a job and only the executor can know. */
  agent: string;
  executor: string;
  /**
   * The executor learns from the job, as docs/protocol/verification.md says: newer keys, a later time, or
   * that it accepted this command.
   */
  learns?: 'keys' | 'time' | 'accepted';
  /** What logged-in users are told. */
  calls?: readonly string[];
}

/** Rewrites a file of a job. */
export function rewrite(job: string, name: string, change: (text: string) => string | Uint8Array): void {
  const path = join(job, name);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
}

/** The same envelope with another payload under the old signature, or other members. */
export function reEnveloped(name: string, change: (envelope: Envelope) => unknown) {
  return (job: string): void => rewrite(job, name, (text) => JSON.stringify(change(JSON.parse(text))));
}

export function payloadText(envelope: Envelope): string {
  return Buffer.from(envelope.payload, 'base64').toString('utf8');
}

/** The command with another text, signed by a key that this host trusts: what a stolen key can make. */
export function resigned(key: TestKey, change: (text: string) => string | Uint8Array, type = COMMAND_TYPE) {
  return (envelope: Envelope): Envelope => {
    const changed = change(payloadText(envelope));
    return signEnvelope(key.key, type, typeof changed === 'string' ? Buffer.from(changed) : changed);
  };
}

/** Lets the host carry out a good job first. */
export async function carryOut(world: JobWorld, parts?: JobParts): Promise<string> {
  const job = world.leaveJob(parts);
  const failure = await world.failureOf(job);
  if (failure !== null) throw new Error(`what comes before the attack fails: ${failure}`);
  world.installs.length = 0;
  world.repairs.length = 0;
  return job;
}
