import { resolve } from 'node:path';

/** Whether the program runs from the bundle of a release, where every module is JavaScript in one folder. */
export const IS_BUNDLED = import.meta.filename.endsWith('.js');

/** The folder that shipped files are found from, wherever the server is started: the repository, or that of the release. */
export const PROGRAM_ROOT = resolve(import.meta.dirname, IS_BUNDLED ? '..' : '../../../..');

/** The software for agents that comes with the program, from `PROGRAM_ROOT`. */
export const SHIPPED_AGENTS = IS_BUNDLED ? '/usr/share/tidegate/agents' : 'dist/agents';

/** The console that comes with the program, from `PROGRAM_ROOT`. */
export const SHIPPED_CONSOLE = IS_BUNDLED ? 'console' : 'apps/console/dist';
