import { Link } from '@tanstack/react-router';
import type {
  PackageChange,
  PackageChangeKind,
  PackageDifference,
} from '@tidegate/protocol/package-history-api';
import { MANAGERS } from '../hosts/package-managers.ts';
import { Badge, type BadgeTone } from '../ui/badge.tsx';

export const CHANGE_LOOKS: Readonly<
  Record<PackageChangeKind, { tone: BadgeTone; word: string; means: string }>
> = {
  installed: { tone: 'good', word: 'installed', means: 'It was not there before' },
  removed: { tone: 'warn', word: 'removed', means: 'It is not there any more' },
  changed: { tone: 'accent', word: 'changed', means: 'Another version took its place' },
  held: { tone: 'neutral', word: 'held', means: 'The package manager is now set not to change it' },
  released: { tone: 'neutral', word: 'not held', means: 'The package manager may change it again' },
  described: {
    tone: 'unknown',
    word: 'other source',
    means: 'The same version; the host now names another source or origin of it',
  },
};

export function ChangeBadge({ kind }: { kind: PackageChangeKind }) {
  const { tone, word, means } = CHANGE_LOOKS[kind];
  return (
    <Badge tone={tone} title={means}>
      {word}
    </Badge>
  );
}

/** A package and what became of it, on one line that wraps by itself. */
export function ChangeLine({ change }: { change: PackageDifference }) {
  const { kind, name, arch, ecosystem, from_version: from, to_version: to } = change;
  return (
    <span className="flex flex-wrap items-baseline gap-x-2 gap-y-0.5">
      <ChangeBadge kind={kind} />
      <span className="min-w-0 font-medium break-all" title={arch ?? undefined}>
        {name}
      </span>
      <span className="mono min-w-0 break-all">
        {kind === 'changed' ? (
          <>
            <bdi>{from}</bdi> <span aria-hidden="true">→</span>
            <span className="sr-only">to</span> <bdi>{to}</bdi>
          </>
        ) : (
          (to ?? from)
        )}
      </span>
      <span className="text-muted">{MANAGERS[ecosystem]}</span>
    </span>
  );
}

/** Who approved what brought a change, or that nobody did. */
export function CauseLine({ cause, command }: Pick<PackageChange, 'cause' | 'command'>) {
  if (command === null) {
    return (
      <span className="text-muted">
        {cause === 'outside'
          ? 'outside Tidegate: no approved command brought it'
          : 'too many commands at the time to tell whether one brought it'}
      </span>
    );
  }
  return (
    <span className="text-muted">
      by{' '}
      <Link to="/commands/$id" params={{ id: command.id }}>
        a command
      </Link>
      {command.approved_by !== null && (
        <>
          , approved by <span className="break-all text-text">{command.approved_by}</span>
        </>
      )}
      {command.policy_id !== null && (
        <>
          {' '}
          through{' '}
          <Link to="/policies/$id" params={{ id: command.policy_id }}>
            a policy
          </Link>
        </>
      )}
      {command.update_id !== null && (
        <>
          {' · '}
          <Link to="/updates/$id/record" params={{ id: command.update_id }}>
            Record of this installation
          </Link>
        </>
      )}
    </span>
  );
}
