import { type Acl, decide, refusalText, type Scope } from '@tidegate/capability';
import type { Sender } from '../backend.ts';

export type Verdict =
  | { readonly allowed: true; readonly scope: Scope }
  | {
      readonly allowed: false;
      /** What the page is told: no more than that. */
      readonly text: string;
      /** For the log of the shell: which capability would have allowed it where. */
      readonly reason: string;
    };

/** The commands that read their scope (docs/desktop-shell.md has the form of each). */
const SCOPED_COMMANDS: ReadonlySet<string> = new Set([
  'api-request',
  'api-stream-open',
  'core:image:from-path',
]);

/**
 * R8: whether a command may run for who sent it. Window, webview and origin are those of the object that received the
 * message; every command is asked for, those of the shell itself too, and what no capability names is refused.
 */
export function judge(acl: Acl, sender: Omit<Sender, 'document'>, command: string): Verdict {
  const { window, webview, origin } = sender;
  const decision = decide(acl, { command, window, webview, origin });
  if (!decision.allowed) return { allowed: false, text: refusalText(command), reason: decision.reason };
  const { scope } = decision;
  // A scope that nobody reads would be a restriction that does not hold.
  if (!SCOPED_COMMANDS.has(command) && scope.allow.length + scope.deny.length > 0)
    return {
      allowed: false,
      text: refusalText(command),
      reason: 'it has a scope, and this command knows none',
    };
  return { allowed: true, scope };
}
