import { buildServer } from '../../scripts/release/build-server.ts';

/** Vitest global set-up: the stories run the server as a release has it, not its sources. */
export const setup = buildServer;
