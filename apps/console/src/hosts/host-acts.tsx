import type { AgentItem, CommandQueued, RebindAnswer } from '@tidegate/protocol/agents-api';
import { isolated } from '@tidegate/protocol/isolated';
import { type ReactNode, useState } from 'react';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { EvidenceDialog } from '../events/evidence-dialog.tsx';
import { withStepUp } from '../login/step-up.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Field, TextArea } from '../ui/field.tsx';
import { toast } from '../ui/toasts.tsx';
import { GroupDialog } from './group-dialog.tsx';
import { confirmationOf } from './host-rules.ts';
import { ScanDialog } from './scan-dialog.tsx';
import { TagDialog } from './tag-dialog.tsx';

/** The acts on a host that open a dialog. */
export type HostAct = 'scan' | 'group' | 'tags' | 'polling' | 'rebind' | 'revoke' | 'dismiss' | 'evidence';

const REASON_MAX_CHARS = 1_000;
const INTERVAL_MAX_SECONDS = 86_400;

/** The dialog of an act; the server performs and records the act. */
export function HostActDialog({
  act,
  host,
  onClose,
}: {
  act: HostAct;
  host: AgentItem;
  onClose: () => void;
}): ReactNode {
  switch (act) {
    case 'scan':
      return <ScanDialog ids={[host.id]} onClose={onClose} />;
    case 'group':
      return <GroupDialog ids={[host.id]} group={host.group ?? ''} onClose={onClose} />;
    case 'tags':
      return <TagDialog ids={[host.id]} tags={host.tags} onClose={onClose} />;
    case 'polling':
      return <PollingDialog host={host} onClose={onClose} />;
    case 'rebind':
      return <RebindDialog host={host} onClose={onClose} />;
    case 'revoke':
      return <RevokeDialog host={host} onClose={onClose} />;
    case 'evidence':
      return <EvidenceDialog host={host} onClose={onClose} />;
    case 'dismiss':
      return <DismissDialog host={host} onClose={onClose} />;
  }
}

type Props = { host: AgentItem; onClose: () => void };

function RebindDialog({ host, onClose }: Props) {
  const [reason, setReason] = useState('');
  const rebind = async () => {
    await withStepUp(() => post<RebindAnswer>(`/api/admin/agents/${host.id}/rebind-machine-id`, { reason }));
    done("The binding is cleared. The next machine that checks in with the host's token is bound.");
  };
  return (
    <ConfirmDialog
      title={`Rebind ${isolated(host.hostname)}`}
      confirm="Clear the binding"
      typed={confirmationOf(host)}
      onConfirm={rebind}
      onClose={onClose}
    >
      <p>
        The host is released from its machine, and the next machine that checks in with its token is bound. Do
        this after a hardware change, never because two machines claim to be one.
      </p>
      <p className="font-medium">This cannot be undone.</p>
      <Reason reason={reason} onReason={setReason} />
    </ConfirmDialog>
  );
}

function RevokeDialog({ host, onClose }: Props) {
  const [reason, setReason] = useState('');
  const revoke = async () => {
    const body = reason.trim() === '' ? {} : { reason };
    await withStepUp(() => post<AgentItem>(`/api/v1/agents/${host.id}/revoke`, body));
    done('The credentials are revoked. The host must enrol again.');
  };
  return (
    <ConfirmDialog
      title={`Revoke ${isolated(host.hostname)}`}
      confirm="Revoke the credentials"
      typed={confirmationOf(host)}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>
        The server refuses all tokens of the host and never delivers its open commands. The host reports
        nothing until it is enrolled again on the machine. It keeps its id and history.
      </p>
      <p className="font-medium">This cannot be undone.</p>
      <Reason reason={reason} onReason={setReason} isOptional />
    </ConfirmDialog>
  );
}

function DismissDialog({ host, onClose }: Props) {
  const [reason, setReason] = useState('');
  const dismiss = async () => {
    await withStepUp(() => post<AgentItem>(`/api/v1/agents/${host.id}/dismiss-clone`, { reason }));
    done('The suspicion is closed. The addresses that were seen are accepted from now on.');
  };
  return (
    <ConfirmDialog
      title={`Confirm that ${isolated(host.hostname)} is one machine`}
      confirm="It is one machine"
      onConfirm={dismiss}
      onClose={onClose}
    >
      <p>
        The addresses in the evidence are accepted as those of one machine. New evidence raises the suspicion
        again.
      </p>
      <Reason reason={reason} onReason={setReason} />
    </ConfirmDialog>
  );
}

function PollingDialog({ host, onClose }: Props) {
  const [seconds, setSeconds] = useState(String(host.check_in_interval_seconds));
  const change = async () => {
    const body = { interval_seconds: Number(seconds) };
    await withStepUp(() => post<CommandQueued>(`/api/v1/agents/${host.id}/polling`, body));
    done('The host gets the new interval at its next check-in.');
  };
  return (
    <ConfirmDialog
      title={`Check-in interval of ${isolated(host.hostname)}`}
      confirm="Set"
      onConfirm={change}
      onClose={onClose}
    >
      <Field
        label="Seconds between check-ins"
        type="number"
        required
        min={1}
        max={INTERVAL_MAX_SECONDS}
        value={seconds}
        hint="1 to 86,400. A host counts as offline after three missed check-ins."
        onChange={(event) => setSeconds(event.target.value)}
      />
    </ConfirmDialog>
  );
}

function Reason({
  reason,
  onReason,
  isOptional = false,
}: {
  reason: string;
  onReason: (reason: string) => void;
  isOptional?: boolean;
}) {
  return (
    <TextArea
      label={isOptional ? 'Reason (optional)' : 'Reason'}
      hint="Recorded in the event log."
      required={!isOptional}
      maxLength={REASON_MAX_CHARS}
      value={reason}
      onChange={(event) => onReason(event.target.value)}
    />
  );
}

function done(text: string): void {
  for (const topic of ['hosts', 'events', 'commands'])
    void queryClient.invalidateQueries({ queryKey: [topic] });
  toast(text);
}
