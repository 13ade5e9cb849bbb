import { CopyText } from '../ui/copy-text.tsx';
import type { Step } from './enrolment-rules.ts';

/** Commands in order, each copied by a click. */
export function CommandSteps({ steps }: { steps: readonly Step[] }) {
  return (
    <ol className="list-decimal space-y-2 pl-5">
      {steps.map(({ what, command }) => (
        <li key={command}>
          {what}
          <div className="mt-1 rounded-md bg-sunken px-2 py-1.5">
            <CopyText text={command} label="Copy the command" />
          </div>
        </li>
      ))}
    </ol>
  );
}
