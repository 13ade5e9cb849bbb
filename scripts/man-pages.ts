import { PROGRAM as AGENT } from '../apps/agent/src/command-line.ts';
import { AGENT_VERSION } from '../apps/agent/src/platform/version.ts';
import { PROGRAM as CTL } from '../apps/ctl/src/program.ts';
import { VERSION as CTL_VERSION } from '../apps/ctl/src/version.ts';
import { PROGRAM as SERVER } from '../apps/server/src/cli/commands.ts';
import { VERSION as SERVER_VERSION } from '../apps/server/src/version.ts';
import { manPage } from '../packages/command-line/src/man-page.ts';

export interface ManPage {
  /** File name, such as `tidegate.1`. */
  name: string;
  text: string;
}

/** The man pages of a release, made from the declarations behind `--help`. `date`: YYYY-MM-DD. */
export function manPages(date: string): ManPage[] {
  const programs = [
    [SERVER, SERVER_VERSION],
    [CTL, CTL_VERSION],
    [AGENT, AGENT_VERSION],
  ] as const;
  return programs.map(([program, version]) => ({
    name: `${program.name}.${program.section}`,
    text: manPage(program, { version, date }),
  }));
}
