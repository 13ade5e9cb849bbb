import { Link } from '@tanstack/react-router';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { GateCondition, RolloutRing } from '@tidegate/protocol/rollouts-api';
import { Check, CircleDashed, Undo2 } from 'lucide-react';
import { membersText } from '../policies/ring-words.ts';
import { Button } from '../ui/button.tsx';
import { StackedBar } from '../ui/stacked-bar.tsx';
import { Time } from '../ui/time.tsx';
import { LaneBadge } from './rollout-badges.tsx';
import { numberText, outcomesIn } from './rollout-rules.ts';

/** A ring of a rollout: its hosts by outcome, and the gate to the next ring. */
export function RingLane({
  rolloutId,
  lane,
  onRollBack,
}: {
  rolloutId: string;
  lane: RolloutRing;
  /** Null: nothing can be undone now, or not by this operator. */
  onRollBack: (() => void) | null;
}) {
  const { ring, name, members, state, hosts, late, excused, entered_at: at, conditions } = lane;
  const headingId = `ring-${ring}`;
  return (
    <li
      aria-labelledby={headingId}
      aria-current={state === 'current' ? 'step' : undefined}
      className={`flex flex-col rounded-xl border bg-surface ${state === 'current' ? 'border-accent' : 'border-line'}`}
    >
      <header className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-4 py-2.5">
        <h3 id={headingId} className="min-w-0 font-semibold break-words">
          {ring + 1}. <bdi>{name}</bdi>
        </h3>
        <LaneBadge state={state} />
      </header>
      <div className="flex-1 space-y-3 p-4">
        <p className="break-words">
          {counted(hosts, 'host')}: {membersText(members)}.
          {at !== null && (
            <span className="text-muted">
              {' '}
              Entered <Time at={at} />.
            </span>
          )}
        </p>
        <Outcomes rolloutId={rolloutId} lane={lane} />
        {late > 0 && <p>{counted(late, 'host')} joined after the rollout had begun.</p>}
        {excused > 0 && (
          <p>
            {excused === 1 ? '1 failed host does' : `${excused.toLocaleString('en')} failed hosts do`} not
            count any more, because a person resumed the rollout.
          </p>
        )}
        {onRollBack && (
          <Button icon={<Undo2 aria-hidden="true" className="size-4" />} onClick={onRollBack}>
            Roll back…<span className="sr-only"> {name}</span>
          </Button>
        )}
      </div>
      {conditions.length > 0 && (
        <div className="border-t border-line px-4 py-3">
          <h4 className="mb-1.5 font-medium">Before the next ring</h4>
          <ul className="space-y-1.5">
            {conditions.map((condition) => (
              <Condition key={condition.kind} condition={condition} />
            ))}
          </ul>
        </div>
      )}
    </li>
  );
}

function Outcomes({
  rolloutId,
  lane: { ring, name, hosts, outcomes },
}: {
  rolloutId: string;
  lane: RolloutRing;
}) {
  if (hosts === 0) return <p className="text-muted">No host is in this ring.</p>;
  const parts = outcomesIn(outcomes).map(({ id, word, count, tone, means }) => ({
    ...{ id, word, count, tone },
    label: (
      <Link
        to="/rollouts/$id"
        params={{ id: rolloutId }}
        search={{ ring: `${ring}`, outcome: id }}
        hash="hosts"
        title={means}
      >
        {count.toLocaleString('en')} {word}
        <span className="sr-only">
          {' '}
          in <bdi>{name}</bdi>
        </span>
      </Link>
    ),
  }));
  return <StackedBar label={`Hosts of ${isolated(name)} by outcome`} parts={parts} />;
}

function Condition({ condition }: { condition: GateCondition }) {
  const { met, text } = condition;
  const Icon = met ? Check : CircleDashed;
  return (
    <li className="flex items-start gap-2">
      <Icon aria-hidden="true" className={`mt-0.5 size-4 shrink-0 ${met ? 'text-good' : 'text-muted'}`} />
      <span className="min-w-0">
        <span className="sr-only">{met ? 'Met: ' : 'Not met: '}</span>
        <span className="block first-letter:uppercase">{text}</span>
        <span className={`block text-[0.9rem] ${met ? 'text-good' : 'text-muted'}`}>
          {met ? 'met' : 'not met'}: {numberText(condition)}
        </span>
      </span>
    </li>
  );
}
