import { CopyText } from '../ui/copy-text.tsx';
import { Fold } from '../ui/fold.tsx';

const COMMANDS = [
  ['Next to the running server', 'tidegate doctor --verify-events'],
  ['With archives of removed events', 'tidegate doctor --verify-events --archive FILE'],
  ['To export the log for someone else', 'tidegate events export --out events.ndjson'],
  [
    'On any machine, with the keys from /api/v1/public-keys',
    'tidegate doctor --verify-events --file events.ndjson --keys keys',
  ],
] as const;

/** How to verify the log without trusting this server. */
export function VerifyPanel() {
  return (
    <div className="mt-4 rounded-xl border border-line bg-surface px-4 py-3">
      <Fold summary="How to verify that nobody changed these events">
        <div className="space-y-2 pt-1">
          <p>
            Each event contains the hash of the previous one, and the server signs the end of the chain every
            five minutes. Hosts receive that signature at each check-in, so a log that was rolled back is
            noticed.
          </p>
          <ul className="space-y-1.5">
            {COMMANDS.map(([what, command]) => (
              <li key={command}>
                {what}: <CopyText text={command} label="Copy the command" />
              </li>
            ))}
          </ul>
          <p className="text-muted">
            A file exported from this page is for reading only: it contains the filtered events without the
            signatures.
          </p>
        </div>
      </Fold>
    </div>
  );
}
