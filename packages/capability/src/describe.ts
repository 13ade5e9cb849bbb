import type { FileFinding } from './check-files.ts';
import type { CommandRequest } from './decide.ts';
import type { Explanation, Missed } from './explain.ts';
import { quote } from './findings.ts';
import type { Source } from './resolve.ts';

/** One line for each finding, as compilers write them and editors read them. */
export function findingLine({ file, line, column, severity, message }: FileFinding): string {
  return `${file}:${line}:${column}: ${severity}: ${message}`;
}

/** How a decision came about, in lines for people. */
export function explanationLines(request: CommandRequest, explanation: Explanation): string[] {
  const { decision, deniedBy, grantedBy, missed, permissions } = explanation;
  const origin = request.origin === 'local' ? 'local' : quote(request.origin);
  const who = `${quote(request.command)} on window ${quote(request.window)}, webview ${quote(request.webview)}, origin ${origin}`;
  const lines = [`${decision.allowed ? 'allowed' : 'refused'}: ${who}`];
  for (const denial of deniedBy)
    lines.push(`  denied by ${named(denial)}: this counts for every window, webview and origin`);
  for (const grant of grantedBy) lines.push(`  granted by ${named(grant)}`);
  for (const grant of missed) lines.push(`  not granted by ${named(grant)}: ${missedBecause(grant)}`);
  if (deniedBy.length + grantedBy.length + missed.length === 0)
    lines.push(`  ${noGrant(request.command, permissions)}`);
  if (decision.allowed) {
    const { allow, deny } = decision.scope;
    if (allow.length > 0) lines.push(`  scope allows ${JSON.stringify(allow)}`);
    if (deny.length > 0) lines.push(`  scope denies ${JSON.stringify(deny)}`);
  }
  return lines;
}

function named({ capability, permission }: Source): string {
  return `${permission} in capability ${quote(capability)}`;
}

function missedBecause({ meets }: Missed): string {
  const reasons: string[] = [];
  if (!meets.origin) reasons.push('it does not serve this origin');
  if (!meets.window && !meets.webview) reasons.push('neither the window nor the webview matches');
  return reasons.join(', and ');
}

function noGrant(command: string, permissions: readonly string[]): string {
  if (permissions.length === 0) return `no plugin that is known has a command ${quote(command)}`;
  return `no capability has a permission for it; ${permissions.join(' or ')} would be one`;
}
