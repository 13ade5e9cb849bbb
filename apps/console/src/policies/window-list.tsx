import { Plus } from 'lucide-react';
import { useId, useState } from 'react';
import { faultAt } from '../api/field-faults.ts';
import { Button } from '../ui/button.tsx';
import { useNow } from '../ui/time.tsx';
import { doneBy, type FieldsProps, LIMITS, newWindow } from './draft-rules.ts';
import { WindowFields } from './window-fields.tsx';
import { ownZone } from './window-times.tsx';

/** The windows of a policy; without any it is always open. */
export function WindowList({ draft, error, onChange }: FieldsProps) {
  const { windows } = draft;
  const done = doneBy(draft);
  const now = useNow();
  const zonesId = useId();
  const [added, setAdded] = useState<number | null>(null);
  const fault = faultAt(error, '/windows');
  return (
    <div className="space-y-3">
      <datalist id={zonesId}>
        {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      {windows.map((window, i) => (
        <WindowFields
          key={window.key}
          {...{ window, done, zonesId, error, index: i, isNew: window.key === added }}
          onChange={(changes) =>
            onChange({ windows: windows.map((one, j) => (j === i ? { ...one, ...changes } : one)) })
          }
          onRemove={() => onChange({ windows: windows.filter((_, j) => j !== i) })}
        />
      ))}
      {windows.length === 0 && <p className="text-muted">Without a window, the policy works at any time.</p>}
      {fault && <p className="text-[0.9rem] text-bad">{fault}</p>}
      {windows.length < LIMITS.windows && (
        <Button
          icon={<Plus aria-hidden="true" className="size-4" />}
          onClick={() => {
            const next = newWindow(windows, { nowMs: now, zone: ownZone() });
            setAdded(next.key);
            onChange({ windows: [...windows, next] });
          }}
        >
          Add a window
        </Button>
      )}
    </div>
  );
}
