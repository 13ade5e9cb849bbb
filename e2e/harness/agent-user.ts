import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { AGENT_BINARY } from './agent-binary.ts';

/** The user of this machine that stands for the one of the agent's unit; null where only root could choose another. */
export const AGENT_USER = process.geteuid?.() === 0 ? 'nobody' : null;

/** Puts the agent where its user can start it: the checkout may be closed to other users. */
export function agentFor(user: string | null, dir: string): string {
  if (user === null) return AGENT_BINARY;
  const binary = join(dir, 'agent-binary');
  copyFileSync(AGENT_BINARY, binary);
  return binary;
}

/** The words before a command that is run as the agent's user. */
export function asUser(user: string | null): string[] {
  return user === null ? [] : ['/usr/sbin/runuser', '-u', user, '--'];
}

/** Shell lines that put the user of this machine in the place of the one that a runbook names. */
export const MAP_USER = `for word do
  shift
  case $word in --user) continue;; tidegate) set -- "$@" ${AGENT_USER === null ? '' : `--user ${AGENT_USER}`};; *) set -- "$@" "$word";; esac
done`;

/** What a runbook calls runuser. */
export const RUNUSER = `[ "$1 $2 $3" = "-u tidegate --" ] && shift 3 && exec ${asUser(AGENT_USER).join(' ')} "$@"`;
