import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import { Check, RotateCcw, X } from 'lucide-react';
import { type RefObject, useRef, useState } from 'react';
import { ApiError } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { StateBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Field, TextArea } from '../ui/field.tsx';
import { Fold } from '../ui/fold.tsx';
import { Panel } from '../ui/page.tsx';
import { Lasting, Time } from '../ui/time.tsx';
import { BlackoutNotice } from './blackout-notice.tsx';
import { Countersign } from './countersign.tsx';
import { approveLabel, uncheckedNotice } from './gate-rules.ts';
import { BlockedVerdict } from './override-zone.tsx';
import { rejectUpdates } from './reject-updates.ts';
import { stateReasonText } from './state-reason.ts';
import { overrideEvent } from './token-rules.ts';
import type { UpdateView } from './update-view.ts';
import { STATE_VERBS } from './update-words.ts';
import { useUpdateActions } from './use-update-actions.tsx';
import { wayBackText } from './way-back-rules.ts';

/** The decisions that are possible now; the button states its effect. */
export function DecisionPanel({ update }: { update: UpdateView }) {
  const { may } = useSession();
  const isApprover = may('approver');
  const reasonBox = useRef<HTMLTextAreaElement>(null);
  const notBefore = useRef<HTMLInputElement>(null);
  const [isRejecting, setRejecting] = useState(false);
  const verbs = useUpdateActions({
    update,
    isApprover,
    reasonBox,
    notBefore,
    onReject: () => setRejecting(true),
  });
  const { approval, approve, reopen, isOverrideOpen, setOverrideOpen, canApprove } = verbs;
  const { gate, plan, hostname, state } = update;
  const isOpen = STATE_VERBS[state].approve;
  const failure = approval.variables?.override_supply_chain ? null : approval.error;
  const token = approval.data && 'token' in approval.data ? approval.data.token : null;

  return (
    <Panel title="Decision" aside={<StateBadge state={state} />}>
      <div className="space-y-3">
        <StateLine update={update} />
        <BlackoutNotice update={update} />
        <UncheckedNotice text={uncheckedNotice({ gate, plan, isOpen })} />
        {token && <OverrideRecord eventId={overrideEvent(token)} />}
        {isOpen && gate?.blocked_by && (
          <BlockedVerdict
            {...{ update, gate, approval, reasonBox, isApprover }}
            isOpen={isOverrideOpen}
            onOpen={setOverrideOpen}
          />
        )}
        {isOpen && isApprover && !gate?.blocked_by && (
          <>
            <Button
              tone="primary"
              shortcut="A"
              busy={approval.isPending}
              disabled={!canApprove}
              onClick={approve}
              icon={<Check aria-hidden="true" className="size-4 shrink-0" />}
              className="w-full justify-center"
              wraps
            >
              {approveLabel({ plan, hostname })}
            </Button>
            <p className="text-muted">Rollback: {wayBackText(update.way_back)}.</p>
            <NotBefore box={notBefore} />
          </>
        )}
        {failure && <Refused error={failure} />}
        {isApprover && (
          <div className="flex flex-wrap gap-2">
            {STATE_VERBS[state].reject && (
              <Button
                shortcut="R"
                onClick={() => setRejecting(true)}
                icon={<X aria-hidden="true" className="size-4" />}
              >
                Reject
              </Button>
            )}
            {STATE_VERBS[state].reopen && (
              <Button onClick={reopen} icon={<RotateCcw aria-hidden="true" className="size-4" />}>
                {STATE_VERBS[state].reopen}
              </Button>
            )}
          </div>
        )}
        {state === 'approved' && isApprover && <Countersign update={update} token={token} />}
      </div>
      {isRejecting && <RejectDialog update={update} onClose={() => setRejecting(false)} />}
    </Panel>
  );
}

/** States that something is still to follow; the others are the end of it. */
const LASTS: ReadonlySet<string> = new Set(['pending', 'awaiting_plan', 'approved', 'installing']);

function StateLine({ update }: { update: UpdateView }) {
  const {
    state,
    state_reason: reason,
    not_before: notBefore,
    updated_at: at,
    out_of_band: outOfBand,
  } = update;
  return (
    <div className="text-muted">
      <p>
        {state.replaceAll('_', ' ')} {LASTS.has(state) ? <Lasting since={at} /> : <Time at={at} />}
        {notBefore && (
          <>
            , not before <Time at={notBefore} />
          </>
        )}
      </p>
      {reason && <p className="break-words">{stateReasonText(reason)}</p>}
      {outOfBand && <p>This version was installed by other means than this server.</p>}
    </div>
  );
}

function UncheckedNotice({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 font-medium text-bad">
      {text}
    </p>
  );
}

function NotBefore({ box }: { box: RefObject<HTMLInputElement | null> }) {
  return (
    <Fold summary="Install later">
      <Field
        ref={box}
        label="Not before"
        type="datetime-local"
        hint={`In your time zone (${Intl.DateTimeFormat().resolvedOptions().timeZone}); the host waits until then.`}
      />
    </Fold>
  );
}

/** A refusal, with a note if the page has been refreshed since. */
function Refused({ error }: { error: Error }) {
  const isStale =
    error instanceof ApiError && (error.code === 'conflict' || error.code === 'approval_blocked');
  return (
    <div role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
      <p className="font-medium">{error.message}</p>
      {isStale && <p>Something changed since you opened this page. It now shows the current state.</p>}
      {error instanceof ApiError && error.requestId && (
        <p className="text-text">
          Request id <CopyText text={error.requestId} label="Copy the request id" />
        </p>
      )}
    </div>
  );
}

function OverrideRecord({ eventId }: { eventId: string | null }) {
  if (eventId === null) return null;
  return (
    <div role="status" className="space-y-1 rounded-md bg-warn-soft px-3 py-2 text-warn">
      <p className="font-medium">The override is recorded.</p>
      <p className="flex flex-wrap items-center gap-x-2 text-text">
        <Link to="/events/$id" params={{ id: eventId }}>
          See its event
        </Link>
        <CopyText text={eventId} label="Copy the event id" />
      </p>
    </div>
  );
}

function RejectDialog({ update, onClose }: { update: UpdateView; onClose: () => void }) {
  const [reason, setReason] = useState('');
  return (
    <ConfirmDialog
      title={`Reject ${isolated(update.name)} on ${isolated(update.hostname)}`}
      confirm="Reject"
      onConfirm={() => rejectUpdates([update], reason.trim())}
      onClose={onClose}
    >
      <p>Nothing is installed, and this version is not offered for approval again. You can reopen it.</p>
      <TextArea
        label="Reason (optional)"
        maxLength={4_096}
        value={reason}
        onChange={(e) => setReason(e.target.value)}
      />
    </ConfirmDialog>
  );
}
