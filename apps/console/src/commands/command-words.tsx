import { reasonWords } from '@tidegate/protocol/code-words';
import type { CommandAction, CommandStatus } from '@tidegate/protocol/states';
import { Ban, Check, CircleDashed, Clock, Download, OctagonX, Send, TimerOff, X, Zap } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type BadgeTone } from '../ui/badge.tsx';

/** What each command asks of its host. */
export const ACTION_WORDS: Readonly<Record<CommandAction, string>> = {
  scan: 'scan',
  plan_update: 'plan an update',
  install_update: 'install an update',
  repair: 'repair packages',
  reboot: 'reboot',
  restart_services: 'restart services',
  update_agent: 'update the agent',
  refresh_keys: 'refresh the keys',
  run_probes: 'run the probes',
  set_polling: 'set the check-in interval',
};

/** Reasons that the server gives as codes. */
const REASONS: Readonly<Record<string, string>> = {
  asked_anew: 'replaced by a newer request',
  approval_gone: 'its approval no longer holds',
  artifact_divergence: 'the package exists with different contents',
  'cancelled by server': 'cancelled by the server',
  command_cancelled: 'cancelled',
  window_closed: 'the window of the policy closed',
  policy_ended: 'its policy has ended',
  agent_revoked: 'the host was revoked',
  not_sealed: 'its record was changed',
};

export function reasonInWords(reason: string | null): string | null {
  if (reason === null) return null;
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? reason) : reasonWords(reason);
}

interface Look {
  readonly tone: BadgeTone;
  readonly icon: ReactNode;
  /** The action that is offered; the server decides again. */
  readonly can: 'cancel' | 'retry' | null;
  readonly isOver: boolean;
}

export const STATUS_LOOKS: Readonly<Record<CommandStatus, Look>> = {
  pending: { tone: 'neutral', icon: <Clock />, can: 'cancel', isOver: false },
  sent: { tone: 'accent', icon: <Send />, can: 'cancel', isOver: false },
  received: { tone: 'accent', icon: <CircleDashed />, can: null, isOver: false },
  running: { tone: 'accent', icon: <Download />, can: null, isOver: false },
  success: { tone: 'good', icon: <Check />, can: null, isOver: true },
  failed: { tone: 'bad', icon: <X />, can: 'retry', isOver: true },
  refused: { tone: 'bad', icon: <OctagonX />, can: 'retry', isOver: true },
  interrupted: { tone: 'warn', icon: <Zap />, can: 'retry', isOver: true },
  expired: { tone: 'warn', icon: <TimerOff />, can: 'retry', isOver: true },
  cancelled: { tone: 'neutral', icon: <Ban />, can: 'retry', isOver: true },
};

export function CommandStatusBadge({ status }: { status: CommandStatus }) {
  const { tone, icon } = STATUS_LOOKS[status];
  return (
    <Badge tone={tone} icon={icon}>
      {status}
    </Badge>
  );
}
