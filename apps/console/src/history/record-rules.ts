import type {
  ApprovalRecord,
  BulkAct,
  OverrideRecord,
  SecondSignature,
} from '@tidegate/protocol/approval-record-api';
import type { CommandItem } from '@tidegate/protocol/commands-api';
import { counted } from '@tidegate/protocol/count-words';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import { isolated } from '@tidegate/protocol/isolated';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import type { CommandStatus } from '@tidegate/protocol/states';
import type { UpdateDetail } from '@tidegate/protocol/updates-api';
import { reasonInWords } from '../commands/command-words.tsx';
import { actorText } from '../ui/actor.ts';
import { longBetween } from '../ui/relative-time-rules.ts';
import { utcText } from '../ui/utc-text.ts';
import { STATUSES, STOP_TITLES } from '../updates/update-words.ts';

/** What the record of an installation is made of. */
export interface RecordFacts {
  readonly update: Pick<
    UpdateDetail,
    'name' | 'current_version' | 'available_version' | 'discovered_at' | 'history' | 'state'
  >;
  /** Null: no command installs it. */
  readonly approval: ApprovalRecord | null;
  readonly decisions: readonly DecisionItem[];
  /** Of this update, the newest first. */
  readonly commands: readonly CommandItem[];
  /** Of packages of this name, the newest first. */
  readonly changes: readonly PackageChange[];
}

export interface RecordStep {
  readonly label: string;
  /** Null: it has not happened, or is not on record. */
  readonly at: string | null;
  readonly text: string;
  readonly notes: readonly Note[];
}

/** What else is on record of a step. */
export interface Note {
  /** Empty beside a link that says it all. */
  readonly text: string;
  /** What a person wrote, in their words. */
  readonly quote?: string;
  readonly hash?: string;
  readonly link?: NoteLink;
  /** Something does not fit, or cannot be told. */
  readonly tone?: 'bad';
}

export type NoteLink =
  | { readonly to: '/policies/$id' | '/commands/$id'; readonly id: string }
  | { readonly to: '/events/$id'; readonly id: string; readonly of?: 'bulk approval' | 'override' }
  | { readonly to: '/statements' | '/exceptions' | '/origins' };

/** From found to installed: the steps of an update in their order, each with what is on record of it. */
export function recordOf({
  update,
  approval,
  decisions,
  commands,
  changes,
}: RecordFacts): readonly RecordStep[] {
  const command = commands.find(({ action }) => action === 'install_update') ?? null;
  const approved = update.history.findLast(({ to_state: to }) => to === 'approved') ?? null;
  const decision =
    decisions.find(({ token_id: id }) => id !== null && id === approval?.token_id) ??
    decisions.find(({ outcome }) => outcome === 'minted') ??
    decisions[0] ??
    null;
  const change =
    changes.find(({ command: by, to_version: to }) => {
      return by !== null && by.id === command?.id && to === update.available_version;
    }) ?? null;
  const isOver = command?.status === 'success';
  return [
    {
      ...{ label: 'Found', at: update.discovered_at, notes: [] },
      text: `The host reported ${isolated(update.available_version)} as available${update.current_version === '' ? '' : ` in place of ${isolated(update.current_version)}`}.`,
    },
    {
      ...{ label: 'Judged', at: decision?.decided_at ?? null },
      text: decision === null ? 'No decision is on record.' : decisionText(decision, approval),
      notes: judgedNotes(decision, approval),
    },
    {
      ...{ label: 'Approved', at: approval?.approved_at ?? approved?.at ?? null },
      text: approval
        ? approvalText(approval)
        : approved
          ? `${isolated(approved.actor)} approved it.`
          : 'It has not been approved.',
      notes: approval ? approvalNotes(approval) : [],
    },
    ...(approval?.second_signatures ?? []).map(signatureStep),
    {
      ...{ label: 'Signed and sent', at: command?.sent_at ?? null },
      notes: command ? [{ text: '', link: { to: '/commands/$id', id: command.id } }] : [],
      text: command?.sent_at
        ? `The server signed command ${command.seq ?? ''} and gave it to the host.`.replace('  ', ' ')
        : 'No command has been sent.',
    },
    {
      ...{ label: 'Received', at: command?.received_at ?? null, notes: [] },
      text: command?.received_at
        ? 'The host said that it has the command.'
        : command?.started_at
          ? 'The host began at once, and did not say so before.'
          : isOver
            ? 'The host did not say so before it was done.'
            : 'The host has not said so.',
    },
    {
      ...{ label: 'Downloaded', at: command?.installing_at ?? null, notes: [] },
      text: command?.installing_at
        ? `The host had all files${after(command.started_at, command.installing_at)} and began to install them.`
        : isOver
          ? 'The host did not say when the download was over.'
          : 'The host has not said so.',
    },
    {
      ...{ label: 'Installed', at: isOver ? command.finished_at : null, notes: [] },
      text: isOver
        ? `The host reported success${after(command.installing_at, command.finished_at)}.`
        : command === null
          ? 'It has not been installed by a command.'
          : endedText(command),
    },
    {
      ...{ label: 'Seen in the inventory', at: change?.reported_at ?? null, notes: [] },
      text: seenText(change, update),
    },
  ];
}

const NOT_INSTALLED: Readonly<Record<CommandStatus, string>> = {
  pending: 'The command waits to be sent',
  sent: 'The host has been given the command',
  received: 'The host has the command',
  running: 'The host carries out the command',
  success: 'The command succeeded',
  failed: 'The command failed',
  refused: 'The host refused the command',
  interrupted: 'The command was interrupted',
  expired: 'The command expired before the host took it',
  cancelled: 'The command was cancelled',
};

function endedText({ status, reason }: Pick<CommandItem, 'status' | 'reason'>): string {
  const why = reason === null || reason === status ? '' : `: ${isolated(reasonInWords(reason) ?? '')}`;
  return `${NOT_INSTALLED[status]}${why}.`;
}

/** A report that is not whole has the new version beside the old one. */
function seenText(
  change: PackageChange | null,
  { current_version: before }: Pick<UpdateDetail, 'current_version'>,
): string {
  if (change === null) return 'No report of the host shows the change, or it is no longer kept.';
  const { from_version: from, to_version: to } = change;
  const has = `The host has ${isolated(to ?? '')}`;
  if (from !== null) return `${has}; it had ${isolated(from)} before.`;
  return before === ''
    ? `${has}; it had none before.`
    : `${has}. Its reports do not say that ${isolated(before)} is gone.`;
}

function after(from: string | null, to: string | null): string {
  const took = longBetween(from, to);
  return took === null ? '' : ` after ${took}`;
}

function decisionText(
  { outcome, actor, unchecked, token_id: tokenId }: DecisionItem,
  approval: ApprovalRecord | null,
): string {
  const isOverridden = approval !== null && approval.override !== null && tokenId === approval.token_id;
  const asked = `when ${isolated(actorText(actor))} asked`;
  const said =
    outcome !== 'minted' || isOverridden
      ? `The checks stopped it ${asked}${isOverridden ? ', and were overridden' : ''}`
      : `The checks allowed it ${asked}`;
  return `${said}${unchecked === null ? '' : '; not everything could be checked'}.`;
}

/** What of the operators' own made the checks say so, and the hash of it all. */
function judgedNotes(decision: DecisionItem | null, approval: ApprovalRecord | null): Note[] {
  const { total, items } = approval?.age_exceptions ?? { total: 0, items: [] };
  const more = total - items.length;
  return [
    ...(decision?.statements ?? []).map(({ vulnerability, package: name, status }): Note => {
      const text = `A statement about ${isolated(vulnerability)} in ${isolated(name)} counted: ${STATUSES[status]}.`;
      return { text, link: { to: '/statements' } };
    }),
    ...items.map(({ package: name, version, created_by: by, reason }): Note => {
      const passed = `${isolated(name)} ${isolated(version)} passed the minimum age by an exception`;
      const link = { to: '/exceptions' } as const;
      return by === null || reason === null
        ? {
            text: `${passed}. Its reason is not on record any more, or is for operators of the whole fleet.`,
            link,
          }
        : { text: `${passed} of ${isolated(by)}, with this reason:`, quote: reason, link };
    }),
    ...(more > 0 ? [{ text: `${more} more passed the minimum age by exceptions.` }] : []),
    ...(approval?.origins ?? []).map(({ origin, reason }): Note => {
      const text = `What comes from ${isolated(origin)} passed unchecked: the origin is registered, with this reason:`;
      return { text, quote: reason, link: { to: '/origins' } };
    }),
    ...(decision ? [{ text: 'Record of the decision, SHA-256:', hash: decision.sha256 }] : []),
  ];
}

function approvalText({ approved_by: by, via, policy }: ApprovalRecord): string {
  switch (via) {
    case 'approve':
      return `${isolated(by)} approved it.`;
    case 'bulk':
      return `${isolated(by)} approved it in a bulk approval.`;
    case 'sweep':
      return `${isolated(by)} approved it before its plan was known. The server signed once the plan was there and had passed the checks.`;
    case 'policy':
      return `${policy?.name ? `The policy ${isolated(policy.name)}` : 'A policy'} approved it in the name of ${isolated(by)}.`;
    case null:
      return `${isolated(by)} approved it. How is not known: the record of the decision is missing or was changed.`;
  }
}

function approvalNotes(approval: ApprovalRecord): Note[] {
  const { event_id: eventId, policy, bulk, updates, override, sha256 } = approval;
  return [
    ...(eventId === null ? [] : [{ text: '', link: { to: '/events/$id', id: eventId } as const }]),
    ...(policy ? [{ text: '', link: { to: '/policies/$id', id: policy.id } as const }] : []),
    ...(bulk ? bulkNotes(bulk, approval) : []),
    ...(updates > 1 ? [{ text: `In one transaction with ${othersOf(updates)} of the host.` }] : []),
    { ...SIGNED[approval.signed], ...(approval.signed === 'good' && { hash: sha256 }) },
    ...(override ? overrideNotes(override) : []),
  ];
}

function othersOf(updates: number): string {
  return updates === 2 ? 'another update' : `${updates - 1} other updates`;
}

function bulkNotes(
  { id, event_id: eventId, is_logged: isLogged, filter, ...act }: BulkAct,
  approval: Pick<ApprovalRecord, 'event_id' | 'via'>,
): Note[] {
  const link =
    eventId === null
      ? { hash: id }
      : { link: { to: '/events/$id', id: eventId, of: 'bulk approval' } as const };
  if (isLogged === false) {
    const text =
      'The log does not say that it was approved in this bulk approval: one of them was changed since.';
    return [{ text, tone: 'bad', ...link }];
  }
  const chosen = filter === '' ? ', without a filter' : '';
  const isComplete = approval.event_id !== null && approval.via !== null && eventId !== null;
  const doubt = isLogged
    ? ''
    : isComplete
      ? '; its event names only the first of them, so the log cannot confirm that this was one'
      : '; the log cannot confirm it';
  return [
    { text: `Part of one bulk approval${askedText(act)}${chosen}${doubt}.`, ...link },
    ...(filter ? [{ text: 'The filter that chose the updates:', quote: filter }] : []),
  ];
}

function askedText({
  updates,
  asked_by: by,
  asked_at: at,
}: Pick<BulkAct, 'updates' | 'asked_by' | 'asked_at'>) {
  if (updates === null || by === null || at === null) return '';
  const all = counted(updates, 'update');
  return ` of ${all}, which ${isolated(by)} asked for at ${utcText(at)}`;
}

const SIGNED: Readonly<Record<ApprovalRecord['signed'], Note>> = {
  good: { text: 'The server signed the approval, SHA-256:' },
  bad: {
    text: 'No key of this server signed the approval as it is stored: it was changed since.',
    tone: 'bad',
  },
  unknown: {
    text: 'The key that signed the approval is not on record, so its signature cannot be checked.',
    tone: 'bad',
  },
};

function overrideNotes({ by, reason, reason_is_signed: isSigned, event_id, blocked_by }: OverrideRecord) {
  const titles = new Map<string | null, string>(Object.entries(STOP_TITLES));
  const stop = titles.get(blocked_by);
  const passed = stop
    ? `${stop}. ${isolated(by)} let it pass`
    : `The checks had stopped it, and ${isolated(by)} let it pass`;
  const link =
    event_id === null ? {} : { link: { to: '/events/$id', id: event_id, of: 'override' } as const };
  if (reason === null) {
    return [{ text: `${passed}. The reason is not on record.`, tone: 'bad', ...link } as const];
  }
  const check: Note =
    isSigned === true
      ? { text: 'The signed approval has the hash of this reason.' }
      : isSigned === false
        ? { text: 'This is not the reason that was signed: it was changed since.', tone: 'bad' }
        : { text: 'Whether this is the reason that was signed cannot be told.', tone: 'bad' };
  return [
    { text: `${passed}, with this reason:`, quote: reason },
    { ...check, ...link },
  ];
}

function signatureStep({
  keyid,
  given_by: by,
  given_at: at,
  event_id,
  on_approval,
  is_given,
}: SecondSignature): RecordStep {
  return {
    ...{ label: 'Second signature', at },
    text:
      by === null
        ? `The approval has a signature by the key ${isolated(keyid)}. Who added it is not on record.`
        : `${isolated(by)} added a signature by the key ${isolated(keyid)}.`,
    notes: [
      {
        ...signatureCheck({ on_approval, is_given }),
        ...(event_id !== null && { link: { to: '/events/$id', id: event_id } }),
      },
    ],
  };
}

function signatureCheck({
  on_approval: isOnApproval,
  is_given: isGiven,
}: Pick<SecondSignature, 'on_approval' | 'is_given'>): Pick<Note, 'text' | 'tone'> {
  if (!isOnApproval) return { text: 'The approval as it is stored does not have it any more.', tone: 'bad' };
  if (isGiven === false)
    return { text: 'This is not the signature that was given: it was changed since.', tone: 'bad' };
  const logged = isGiven
    ? 'The log has the hash of this signature.'
    : 'The log has no hash of this signature.';
  return { text: `${logged} Only the host can check it: the server does not know the key.` };
}
