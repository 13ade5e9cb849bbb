import { CopyText } from '../ui/copy-text.tsx';
import { Fold } from '../ui/fold.tsx';

const COMMANDS = [
  ['Beside the running server', 'tidegate doctor --verify-events'],
  ['For somebody else', 'tidegate events export --out events.ndjson'],
  [
    'Anywhere, with the keys of /api/v1/public-keys',
    'tidegate doctor --verify-events --file events.ndjson --keys keys',
  ],
] as const;

/** How anybody can see that the log was not changed, without this server. */
export function VerifyPanel() {
  return (
    <div className="mt-4 rounded-xl border border-line bg-surface px-4 py-3">
      <Fold summary="How to verify that nobody changed these events">
        <div className="space-y-2 pt-1">
          <p>
            Each event holds the hash of the one before, and the server signs the end of the chain every five
            minutes. Hosts are told of it at each check-in, so that a log that went back is noticed.
          </p>
          <ul className="space-y-1.5">
            {COMMANDS.map(([what, command]) => (
              <li key={command}>
                {what}: <CopyText text={command} label="Copy the command" />
              </li>
            ))}
          </ul>
          <p className="text-muted">
            A file that this page exports is to be read: it holds the part that the filter shows, without the
            signatures.
          </p>
        </div>
      </Fold>
    </div>
  );
}
