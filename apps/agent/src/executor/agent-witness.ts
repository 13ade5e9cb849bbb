import { Check } from 'typebox/value';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { AgentProof, JOB_FILES } from '../jobs/job-folder.ts';
import { verifyAgentState } from '../trust/agent-state.ts';
import type { AgentWitness } from './agent-trial.ts';
import { readJobJson } from './read-job.ts';

const PROOF_MAX_BYTES = 16 * 1024;
const STATE_MAX_BYTES = 256 * 1024;

/** What the agent leaves in the folder of its job. An agent that lies about itself harms its own host alone. */
export function witnessIn(
  folder: string,
  facts: { trusted: TrustedKeySet; agentId: string; nowMs: () => number },
): AgentWitness {
  return {
    proof: () => {
      const proof = readJobJson(folder, JOB_FILES.proof, PROOF_MAX_BYTES);
      return Check(AgentProof, proof) ? proof : null;
    },
    stateTime: () => {
      const state = readJobJson(folder, JOB_FILES.state, STATE_MAX_BYTES);
      const verified = verifyAgentState(state, { ...facts, nowMs: facts.nowMs() });
      return verified.ok ? verified.state.server_time : null;
    },
  };
}
