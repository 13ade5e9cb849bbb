import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_BINARY } from './agent-binary.ts';

/** The local user in place of the one of the agent's unit; null unless root runs the tests and can change users. */
export const AGENT_USER = process.geteuid?.() === 0 ? 'nobody' : null;

/** Copies the agent, or another version of it, to where its user can start it: the checkout may be closed to other users. */
export function agentFor(user: string | null, dir: string, program: string | null = null): string {
  if (user === null && program === null) return AGENT_BINARY;
  const binary = join(dir, 'agent-binary');
  copyFileSync(program ?? AGENT_BINARY, binary);
  return binary;
}

/** The prefix of a command that is run as the agent's user. */
export function asUser(user: string | null): string[] {
  return user === null ? [] : ['/usr/sbin/runuser', '-u', user, '--'];
}

/** Shell lines that replace the user that a runbook names by the local one. */
export const MAP_USER = `for word do
  shift
  case $word in --user) continue;; tidegate-agent) set -- "$@" ${AGENT_USER === null ? '' : `--user ${AGENT_USER}`};; *) set -- "$@" "$word";; esac
done`;

/** Replaces runuser for the commands of a runbook. */
export const RUNUSER = `[ "$1 $2 $3" = "-u tidegate-agent --" ] && shift 3 && exec ${asUser(AGENT_USER).join(' ')} "$@"`;
