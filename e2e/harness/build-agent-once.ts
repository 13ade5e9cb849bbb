import { buildAgentWhenStale } from './agent-binary.ts';

/** Vitest global set-up: the stories run the compiled agent, not its sources. */
export async function setup(): Promise<void> {
  if (await buildAgentWhenStale()) process.stderr.write('The agent was built.\n');
}
