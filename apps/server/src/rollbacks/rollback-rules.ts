import { type ApprovalPayload, type ApprovedUpdate, COMMAND_MAX_BYTES } from '@tidegate/protocol/documents';
import { inverseOf, ROLLBACK_MAX_ACTIONS, type RollbackAction } from '@tidegate/protocol/rollbacks';

/** For the other members of a planning command and its signatures, in bytes. */
const COMMAND_RESERVE_BYTES = 16 * 1024;

export type Undoing =
  | {
      readonly kind: 'undo';
      readonly main: ApprovedUpdate & { from_version: string };
      readonly actions: RollbackAction[];
    }
  | { readonly kind: 'not_installed' | 'too_large' };

/**
 * What undoing an installation means: the opposite of each of its actions, as one update that takes a package back. The
 * update is one of the approval's own whose new version is on the host. Everything else belongs to its transaction.
 */
export function undoingOf(
  { updates, actions }: Pick<ApprovalPayload, 'updates' | 'actions'>,
  isThere: (update: ApprovedUpdate) => boolean,
): Undoing {
  const [main] = updates.flatMap((update) => {
    const { from_version: from } = update;
    return from !== null && isThere(update) ? [{ ...update, from_version: from }] : [];
  });
  if (main === undefined) return { kind: 'not_installed' };
  const undo = inverseOf(actions);
  // A payload travels in base64.
  const bytes = (Buffer.byteLength(JSON.stringify(undo)) * 4) / 3 + COMMAND_RESERVE_BYTES;
  if (undo.length > ROLLBACK_MAX_ACTIONS || bytes > COMMAND_MAX_BYTES) return { kind: 'too_large' };
  return { kind: 'undo', main, actions: undo };
}
