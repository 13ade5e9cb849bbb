import { type Acl, decide, refusalText, type Scope } from '@tidegate/capability';
import type { Sender } from '../backend.ts';

export type Verdict =
  | { readonly allowed: true; readonly scope: Scope }
  | {
      readonly allowed: false;
      /** The only text that the page gets. */
      readonly text: string;
      /** For the shell's log: which capability would have allowed it, and where. */
      readonly reason: string;
    };

/** The commands that read their scope (docs/desktop-shell.md has the form of each). */
const SCOPED_COMMANDS: ReadonlySet<string> = new Set([
  'api-request',
  'api-stream-open',
  'core:image:from-path',
]);

/**
 * R8: whether a command may run for its sender. Window, webview and origin are those of the object that received the
 * message. Every command is checked, even the shell's own; a command that no capability names is refused.
 */
export function judge(acl: Acl, sender: Omit<Sender, 'document'>, command: string): Verdict {
  const { window, webview, origin } = sender;
  const decision = decide(acl, { command, window, webview, origin });
  if (!decision.allowed) return { allowed: false, text: refusalText(command), reason: decision.reason };
  const { scope } = decision;
  // A scope that the command does not read would be a restriction without effect.
  if (!SCOPED_COMMANDS.has(command) && scope.allow.length + scope.deny.length > 0)
    return {
      allowed: false,
      text: refusalText(command),
      reason: 'it has a scope, and this command knows none',
    };
  return { allowed: true, scope };
}
