import { Type } from 'typebox';
import type { Backend, Outcome } from '../backend.ts';
import { type Commands, command, done } from '../core/commands.ts';
import type { WindowRegistry } from '../core/window-registry.ts';
import { SHELL_VERSION } from '../version.ts';

const Nothing = Type.Object({}, { additionalProperties: false });
const Theme = Type.Object({ theme: Type.Enum(['light', 'dark', 'system']) }, { additionalProperties: false });

/** Facts about the shell itself. Commands only for phones and macOS are left to "not supported". */
export function appCommands(parts: { windows: WindowRegistry; backend: () => Backend }): Commands {
  const { windows, backend } = parts;
  return {
    'core:app:name': command(Nothing, () => done('Tidegate')),
    'core:app:identifier': command(Nothing, () => done('tidegate-shell')),
    'core:app:version': command(Nothing, () => done(SHELL_VERSION)),
    'core:app:host-version': command(Nothing, () => done(process.versions.node)),
    // Started from source: there is no bundle.
    'core:app:bundle-type': command(Nothing, () => done(null)),
    'core:app:supports-multiple-windows': command(Nothing, () => done(true)),
    'core:app:set-app-theme': command(Theme, async ({ theme }) => {
      let outcome: Outcome = done();
      for (const target of windows.windows()) {
        outcome = await backend().perform({ command: 'core:window:set-theme', target, args: theme });
        if (outcome.kind !== 'done') return outcome;
      }
      return outcome;
    }),
  };
}
