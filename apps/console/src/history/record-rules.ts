import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { DecisionItem } from '@tidegate/protocol/decisions-api';
import type { PackageChange } from '@tidegate/protocol/package-history-api';
import type { UpdateDetail } from '@tidegate/protocol/updates-api';

/** What the record of an installation is made of. */
export interface RecordFacts {
  readonly update: Pick<
    UpdateDetail,
    'name' | 'current_version' | 'available_version' | 'discovered_at' | 'history' | 'state'
  >;
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
  readonly sha256?: string;
}

/** From found to installed: the steps of an update in their order, each with what is on record of it. */
export function recordOf({ update, decisions, commands, changes }: RecordFacts): readonly RecordStep[] {
  const command = commands.find(({ action }) => action === 'install_update') ?? null;
  const approval = update.history.findLast(({ to_state: to }) => to === 'approved') ?? null;
  const decision = decisions.find(({ outcome }) => outcome === 'minted') ?? decisions[0] ?? null;
  const change =
    changes.find(({ command: by, to_version: to }) => {
      return by !== null && by.id === command?.id && to === update.available_version;
    }) ?? null;
  const isOver = command?.status === 'success';
  return [
    {
      ...{ label: 'Found', at: update.discovered_at },
      text: `The host reported ${update.available_version} as available${update.current_version === '' ? '' : ` in place of ${update.current_version}`}.`,
    },
    {
      ...{ label: 'Judged', at: decision?.decided_at ?? null },
      text: decision === null ? 'No decision is on record.' : decisionText(decision),
      ...(decision && { sha256: decision.sha256 }),
    },
    {
      ...{ label: 'Approved', at: approval?.at ?? null },
      text: approval === null ? 'It has not been approved.' : approvalText(approval.actor, command, change),
    },
    {
      ...{ label: 'Signed and sent', at: command?.sent_at ?? null },
      text: command?.sent_at
        ? `The server signed command ${command.seq ?? ''} and gave it to the host.`.replace('  ', ' ')
        : 'No command has been sent.',
    },
    {
      ...{ label: 'Received', at: command?.received_at ?? null },
      text: command?.received_at
        ? 'The host said that it has the command.'
        : isOver
          ? 'The host did not say so before it was done.'
          : 'The host has not said so.',
    },
    {
      ...{ label: 'Installed', at: isOver ? command.finished_at : null },
      text: isOver
        ? 'The host reported success.'
        : command === null
          ? 'It has not been installed by a command.'
          : `The command is ${command.status}${command.reason === null ? '' : `: ${command.reason}`}.`,
    },
    {
      ...{ label: 'Seen in the inventory', at: change?.reported_at ?? null },
      text:
        change === null
          ? 'No report of the host shows the change, or it is no longer kept.'
          : change.from_version === null
            ? `The host has ${change.to_version}; it had none before.`
            : `The host has ${change.to_version}; it had ${change.from_version} before.`,
    },
  ];
}

function decisionText({ outcome, actor, unchecked }: DecisionItem): string {
  const said = outcome === 'minted' ? 'The checks allowed it' : 'The checks stopped it';
  return `${said}, asked by ${actor}${unchecked === null ? '' : '; not everything could be checked'}.`;
}

/** A command is approved by the operator in whose name a policy acts. */
function approvalText(actor: string, command: CommandItem | null, change: PackageChange | null): string {
  const by = change?.command?.approved_by ?? command?.created_by ?? actor;
  return `${by} approved it${change?.command?.policy_id ? ' through a policy' : ''}.`;
}
