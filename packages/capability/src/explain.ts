import { type CommandRequest, callerOf, judge } from './decide.ts';
import { type Meeting, meet } from './match.ts';
import type { Decision } from './memory.ts';
import type { Acl, Source } from './resolve.ts';

/** A grant that does not serve the caller, and which of its conditions the caller meets. */
export interface Missed extends Source {
  readonly meets: Meeting;
}

/** How a decision came about. */
export interface Explanation {
  readonly decision: Decision;
  /** Denials of the command; one is enough, whatever window, webview or origin asks. */
  readonly deniedBy: readonly Source[];
  /** Grants that serve the caller; they count where nothing denies. */
  readonly grantedBy: readonly Source[];
  readonly missed: readonly Missed[];
  /** Permissions known that would allow the command; empty for a command that no manifest knows. */
  readonly permissions: readonly string[];
}

export function explainCall(acl: Acl, request: CommandRequest): Explanation {
  const rules = acl.commands.get(request.command);
  const caller = callerOf(request);
  const grantedBy: Source[] = [];
  const missed: Missed[] = [];
  for (const { capability, permission, audience: index } of rules?.grants ?? []) {
    const audience = acl.audiences[index];
    if (audience === undefined) continue;
    const meets = meet(audience, caller);
    if (meets.origin && (meets.window || meets.webview)) grantedBy.push({ capability, permission });
    else missed.push({ capability, permission, meets });
  }
  return {
    decision: judge(acl, request),
    deniedBy: rules?.denials ?? [],
    grantedBy,
    missed,
    permissions: permissionsFor(acl, request.command),
  };
}

/** The commands that a caller may use, in order. */
export function commandsOf(acl: Acl, caller: Omit<CommandRequest, 'command'>): readonly string[] {
  return [...acl.commands.keys()].filter((command) => judge(acl, { ...caller, command }).allowed).toSorted();
}

function permissionsFor(acl: Acl, command: string): readonly string[] {
  if (!command.includes(':')) return [`allow-${command}`];
  return [...acl.plugins.values()]
    .flatMap(({ permissions }) => [...permissions.values()])
    .filter(({ allows }) => allows.includes(command))
    .map(({ identifier }) => identifier);
}
