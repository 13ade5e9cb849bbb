import { Link } from '@tanstack/react-router';
import type { GateReport } from '@tidegate/protocol/approvals-api';
import { ShieldAlert } from 'lucide-react';
import { type RefObject, useState } from 'react';
import { fieldFaults } from '../api/field-faults.ts';
import { Term } from '../glossary/term.tsx';
import { Button } from '../ui/button.tsx';
import { TextArea } from '../ui/field.tsx';
import type { UpdateView } from './update-view.ts';
import { REASONS, STOP_TITLES } from './update-words.ts';
import type { useApprove } from './use-approve.ts';

const REASON_MAX = 4_096;

/** What blocked the update and how to proceed, if possible. The override exists here and nowhere else. */
export function BlockedVerdict({
  update,
  gate,
  approval,
  isOpen,
  onOpen,
  reasonBox,
  isApprover,
}: {
  update: UpdateView;
  gate: GateReport;
  approval: ReturnType<typeof useApprove>;
  isOpen: boolean;
  onOpen: (open: boolean) => void;
  reasonBox: RefObject<HTMLTextAreaElement | null>;
  isApprover: boolean;
}) {
  const { blocked_by: by, reason } = gate;
  if (by === null) return null;
  return (
    <section
      aria-labelledby="blocked"
      className="space-y-3 rounded-lg border-2 border-bad/60 bg-bad-soft px-4 py-3"
    >
      <h3 id="blocked" className="flex items-center gap-2 font-semibold text-bad">
        <ShieldAlert aria-hidden="true" className="size-4.5 shrink-0" />
        Blocked: {STOP_TITLES[by]}
      </h3>
      {reason && <p>{REASONS[reason]}</p>}
      {by === 'vulnerability' && <PolicyLine policy={gate.vulnerability_policy} />}
      {by === 'age' && <AgeWayOut update={update} gate={gate} />}
      {by === 'divergence' && <DivergenceWayOut gate={gate} />}
      {by === 'registry' && <RegistryWayOut gate={gate} />}
      {by === 'hold' && <HoldWayOut gate={gate} />}
      {gate.overridable && isApprover && !isOpen && (
        <Button shortcut="O" onClick={() => onOpen(true)}>
          Override with a reason…
        </Button>
      )}
      {gate.overridable && isApprover && isOpen && (
        <OverrideForm {...{ update, approval, reasonBox }} onCancel={() => onOpen(false)} />
      )}
      {gate.overridable && !isApprover && <p>An approver can override this, with a reason.</p>}
    </section>
  );
}

/** The setting that made these vulnerabilities stop the update. */
function PolicyLine({ policy }: { policy: GateReport['vulnerability_policy'] }) {
  return (
    <p>
      {policy === 'introduced'
        ? 'On this server only vulnerabilities that an update introduces stop it, and malicious packages always.'
        : 'On this server every known vulnerability stops an update, also one that the host has already.'}{' '}
      An admin can change this under <Link to="/settings">Settings, “What stops an update”</Link>.
    </p>
  );
}

function OverrideForm({
  update: { name, available_version: version, hostname, gate },
  approval,
  reasonBox,
  onCancel,
}: {
  update: UpdateView;
  approval: ReturnType<typeof useApprove>;
  reasonBox: RefObject<HTMLTextAreaElement | null>;
  onCancel: () => void;
}) {
  const [reason, setReason] = useState('');
  const { error, isPending, variables } = approval;
  const own = variables?.override_supply_chain ? error : null;
  return (
    <form
      className="space-y-3 border-t border-bad/40 pt-3"
      onSubmit={(event) => {
        event.preventDefault();
        approval.mutate({ override_supply_chain: true, override_reason: reason });
      }}
    >
      <p>
        You are about to override the <Term of="gate">gate</Term> for{' '}
        <strong className="break-all">
          <bdi>{name}</bdi> <bdi>{version}</bdi>
        </strong>{' '}
        on{' '}
        <strong>
          <bdi>{hostname}</bdi>
        </strong>
        .
      </p>
      <ul className="list-disc space-y-0.5 pl-5">
        <li>
          Waived:{' '}
          {gate?.blocked_by === 'unchecked'
            ? 'the missing check for known vulnerabilities.'
            : 'the known vulnerabilities listed on this page.'}
        </li>
        <li>
          <strong>Not waived:</strong> signature and hashes are still verified, on the host, for every package
          of the plan. The minimum age still applies, and files that differ stay blocked.
        </li>
        <li>Your name and your reason are recorded in the event log.</li>
      </ul>
      <TextArea
        ref={reasonBox}
        label="Reason"
        hint="Later readers will know nothing else about your decision."
        required
        maxLength={REASON_MAX}
        value={reason}
        error={fieldFaults(own).override_reason}
        onChange={(e) => setReason(e.target.value)}
      />
      {own && (
        <p role="alert" className="font-medium text-bad">
          {own.message}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" tone="danger" busy={isPending} disabled={reason.trim() === ''}>
          Override for <bdi>{name}</bdi> on <bdi>{hostname}</bdi>
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

/** A7 has no override: the way past it is an exception for exactly this version. */
function AgeWayOut({ update, gate }: { update: UpdateView; gate: GateReport }) {
  const violations = gate.age?.violations ?? [];
  return (
    <div className="space-y-1.5">
      <p>
        This has no override. Wait until the version is old enough, or ask an admin to add an exception for
        this version.
      </p>
      <ul className="space-y-1">
        {violations.map(({ package: name, version }) => (
          <li key={`${name}@${version}`}>
            <Link to="/exceptions" search={{ ecosystem: update.ecosystem, name, version }}>
              Add an exception for{' '}
              <span className="mono break-all">
                <bdi>{name}</bdi>@<bdi>{version}</bdi>
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function DivergenceWayOut({ gate }: { gate: GateReport }) {
  return (
    <div className="space-y-1.5">
      <p>
        This has no override. Find out which file is the right one, and{' '}
        <Link to="/divergences" search={{ open: 'true' }}>
          decide
        </Link>
        ; the runbook on divergences says how.
      </p>
      <ul className="space-y-1">
        {gate.divergences.map((one) => (
          <li key={`${one.divergence_id} ${one.hash}`} className="mono break-all">
            <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>: {one.algorithm} {one.hash}
          </li>
        ))}
      </ul>
    </div>
  );
}

function HoldWayOut({ gate }: { gate: GateReport }) {
  return (
    <div className="space-y-1.5">
      <p>This has no override. Wait for the end of the hold, or have it released.</p>
      <ul className="space-y-1">
        {gate.held.map((one) => (
          <li key={`${one.package} ${one.hold_id}`} className="break-words">
            <span className="mono">{one.package}</span> until {one.ends_at.slice(0, 10)}:{' '}
            <bdi>{one.reason}</bdi>
          </li>
        ))}
      </ul>
    </div>
  );
}

function RegistryWayOut({ gate }: { gate: GateReport }) {
  return (
    <div className="space-y-1.5">
      <p>
        This has no override. Find out where the host got the file: a mirror may serve a different one, a
        private package may share a public name, or the version may have been withdrawn. If the server should
        ask another registry, change its settings. It asks again after 15 minutes.
      </p>
      <ul className="space-y-1">
        {gate.unknown_artifacts.map((one) => (
          <li key={`${one.package} ${one.version} ${one.hash}`} className="mono break-all">
            <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>: {one.algorithm} {one.hash}, not at {one.source}
          </li>
        ))}
      </ul>
    </div>
  );
}
