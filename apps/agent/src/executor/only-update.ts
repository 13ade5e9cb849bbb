import type { ApprovalPayload, ApprovedUpdate } from '@tidegate/protocol/documents';

/** The update of an approval, for package managers that resolve one package at a time. */
export function onlyUpdate({
  updates,
}: Pick<ApprovalPayload, 'updates'>): { ok: true; value: ApprovedUpdate } | { ok: false; reason: string } {
  const [first, ...others] = updates;
  if (first !== undefined && others.length === 0) return { ok: true, value: first };
  return { ok: false, reason: `the approval names ${updates.length} updates; allowed here: one` };
}
