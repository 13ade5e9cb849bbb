import { type Preferences, setPreferences, usePreferences } from '../shell/preferences.ts';
import { Panel } from '../ui/page.tsx';

const THEMES: Readonly<Record<Preferences['theme'], string>> = {
  system: 'Same as the system',
  light: 'Light',
  dark: 'Dark',
};
const DENSITIES: Readonly<Record<Preferences['density'], string>> = {
  comfortable: 'Comfortable',
  compact: 'Compact',
};

/** Appearance and shortcuts, stored in this browser per operator. */
export function AppearancePanel() {
  const { theme, density, shortcuts } = usePreferences();
  return (
    <Panel title="Appearance" aside={<span className="text-muted">stored in this browser</span>}>
      <div className="space-y-4">
        <Choice
          legend="Theme"
          options={THEMES}
          value={theme}
          onChoose={(next) => setPreferences({ theme: next })}
        />
        <Choice
          legend="Rows"
          options={DENSITIES}
          value={density}
          onChoose={(next) => setPreferences({ density: next })}
        />
        <label className="flex min-h-7 items-center gap-2">
          <input
            type="checkbox"
            className="size-4"
            checked={shortcuts}
            onChange={({ target }) => setPreferences({ shortcuts: target.checked })}
          />
          Single-key shortcuts (press <kbd className="mono">?</kbd> to list them)
        </label>
      </div>
    </Panel>
  );
}

function Choice<K extends string>({
  legend,
  options,
  value,
  onChoose,
}: {
  legend: string;
  options: Readonly<Record<K, string>>;
  value: K;
  onChoose: (value: K) => void;
}) {
  const keys = Object.keys(options).filter((key): key is K => key in options);
  return (
    <fieldset>
      <legend className="font-medium">{legend}</legend>
      <div className="mt-1 flex flex-wrap gap-x-5">
        {keys.map((key) => (
          <label key={key} className="flex min-h-7 items-center gap-2">
            <input
              type="radio"
              name={legend}
              className="size-4"
              checked={key === value}
              onChange={() => onChoose(key)}
            />
            {options[key]}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
