import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { windowEnvironment } from '../window-environment.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MISSING =
  'Chromium is missing: install the package "chromium" (Debian, Ubuntu: apt install chromium), or name a browser with CHROMIUM_PATH.';

const FLAGS = [
  '--remote-debugging-pipe',
  // This browser must not reach any host: pages come through the pipe, and a proxy that does not exist takes all other
  // connections, including web sockets.
  ...['--proxy-server=http://127.0.0.1:9', '--proxy-bypass-list=<-loopback>'],
  ...['--no-first-run', '--no-default-browser-check', '--no-pings', '--disable-sync', '--disable-extensions'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-domain-reliability'],
  ...['--disable-default-apps', '--disable-breakpad', '--disable-quic', '--metrics-recording-only'],
  '--password-store=basic',
  '--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication',
];

export interface ChromiumSettings {
  /** Turns off the browser's sandbox: only for tests that run as root, which Chromium otherwise refuses. */
  readonly noSandbox: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ChromiumProcess {
  readonly write: Writable;
  readonly read: Readable;
  readonly pid: number;
  /** Opens another window without tabs: a second start with the same profile passes it to the first process. */
  openWindow(url: string): void;
  /** Resolves when the process has exited and its profile is removed. */
  readonly ended: Promise<void>;
  kill(): void;
}

export type Started = { ok: true; chromium: ChromiumProcess } | { ok: false; detail: string };

/** Starts Chromium without a window or port, with a profile that is removed when it exits. */
export function startChromium(settings: ChromiumSettings): Started {
  const program = settings.env.CHROMIUM_PATH ?? findProgram(NAMES, settings.env.PATH ?? '');
  if (program === null) return { ok: false, detail: MISSING };
  if (!settings.env.DISPLAY && !settings.env.WAYLAND_DISPLAY)
    return { ok: false, detail: 'There is no display: DISPLAY and WAYLAND_DISPLAY are not set.' };
  const env = windowEnvironment(settings.env);
  const profile = makeProfile();
  // The second flag hides the bar that warns about the first.
  const common = [
    `--user-data-dir=${profile}`,
    ...(settings.noSandbox ? ['--no-sandbox', '--test-type'] : []),
  ];
  const first = spawn(program, [...FLAGS, ...common, '--no-startup-window'], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const [, , , write, read] = first.stdio;
  const { pid } = first;
  if (!(write instanceof Writable) || !(read instanceof Readable) || pid === undefined) {
    rmSync(profile, { recursive: true, force: true });
    return { ok: false, detail: `${program} cannot be started. ${MISSING}` };
  }
  return {
    ok: true,
    chromium: {
      ...{ write, read, pid },
      openWindow(url) {
        const args = [...common, `--app=${url}`];
        spawn(program, args, { env, stdio: 'ignore' }).on('error', () => first.kill());
      },
      ended: untilGone(first).then(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 })),
      kill: () => void first.kill('SIGKILL'),
    },
  };
}

/** Passwords are typed into this browser and must not be saved in it. */
function makeProfile(): string {
  const profile = mkdtempSync(join(tmpdir(), 'tidegate-shell-'));
  const preferences = {
    credentials_enable_service: false,
    credentials_enable_autosignin: false,
    profile: { password_manager_enabled: false },
    autofill: { profile_enabled: false, credit_card_enabled: false },
  };
  mkdirSync(join(profile, 'Default'));
  writeFileSync(join(profile, 'Default/Preferences'), JSON.stringify(preferences));
  return profile;
}

async function untilGone(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once('error', () => resolve()).once('exit', () => resolve());
  await promise;
}

function findProgram(names: readonly string[], path: string): string | null {
  const places = path.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return places.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
