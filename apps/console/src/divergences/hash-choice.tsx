import { Link } from '@tanstack/react-router';
import type { Divergence } from '@tidegate/protocol/artifacts-api';
import { isolated } from '@tidegate/protocol/isolated';
import { CopyText } from '../ui/copy-text.tsx';
import { Field } from '../ui/field.tsx';
import { Time } from '../ui/time.tsx';
import { STANDING_WORDS } from './standing-words.ts';

interface Props {
  readonly divergence: Divergence;
  readonly canDecide: boolean;
  /** A listed hash, `all`, or `typed`; nothing is chosen beforehand. */
  readonly accept: string | null;
  readonly choose: (accept: string) => void;
}

/** The hashes with who reported each first, and the choice of the right one. */
export function HashChoice({ divergence, canDecide, accept, choose }: Props) {
  const { algorithm, hashes } = divergence;
  return (
    <fieldset className="space-y-2">
      <legend className="font-medium">Which hash is right?</legend>
      {hashes.map(({ hash, standing, agent_id: agentId, url, origin, seen_at: at }) => (
        <div key={hash} className="flex items-start gap-2 rounded-lg border border-line px-3 py-2">
          <input
            type="radio"
            name="accept"
            className="mt-1 size-4 shrink-0"
            aria-label={`Accept ${hash.slice(0, 12)}`}
            disabled={!canDecide}
            checked={accept === hash}
            onChange={() => choose(hash)}
          />
          <div className="min-w-0 space-y-0.5">
            <CopyText text={hash} label="Copy the hash" />
            <p className="break-all text-muted">
              {STANDING_WORDS[standing]};{' '}
              {agentId === null ? (
                <>
                  entered by an operator <Time at={at} />
                </>
              ) : (
                <>
                  first reported by{' '}
                  <Link to="/hosts/$id" params={{ id: agentId }} className="underline">
                    this host
                  </Link>{' '}
                  <Time at={at} />, from <span className="mono">{url}</span>
                  {origin !== null && ` (${isolated(origin)})`}
                </>
              )}
            </p>
          </div>
        </div>
      ))}
      {canDecide && (
        <>
          <Radio checked={accept === 'all'} onChoose={() => choose('all')}>
            All of them, for example builds of one version by two repositories
          </Radio>
          <Radio checked={accept === 'typed'} onChoose={() => choose('typed')}>
            None of them: enter the right one
          </Radio>
          {accept === 'typed' && (
            <Field
              label={`Correct ${algorithm === 'sha256' ? 'SHA-256' : 'SHA-512'} hash`}
              name="typed"
              hint="Lower-case hex, from the project's own server"
              className="mono"
              pattern={algorithm === 'sha256' ? '[0-9a-f]{64}' : '[0-9a-f]{128}'}
              maxLength={128}
              autoComplete="off"
              required
            />
          )}
        </>
      )}
    </fieldset>
  );
}

function Radio({
  checked,
  onChoose,
  children,
}: {
  checked: boolean;
  onChoose: () => void;
  children: React.ReactNode;
}) {
  return (
    <label className="flex min-h-6 items-center gap-2 px-3">
      <input type="radio" name="accept" className="size-4" checked={checked} onChange={onChoose} />
      {children}
    </label>
  );
}
