import { join } from 'node:path';
import type { Backend, BackendOptions } from './backend.ts';
import { openChromiumBackend } from './chromium/chromium-backend.ts';
import type { BackendChoice } from './command-line.ts';
import type { Log } from './log.ts';
import { openWebviewBackend } from './webview/webview-backend.ts';

export interface BackendSettings {
  readonly choice: BackendChoice;
  readonly noSandbox: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cacheFolder: string;
  readonly dataFolder: string;
  readonly now: () => number;
}

type Opened = { ok: true; backend: Backend } | { ok: false; detail: string };

/** Opens the system's webview, else Chromium; if neither works, the detail says why and what to install. */
export async function openBackend(
  settings: BackendSettings,
  options: BackendOptions,
  log: Log,
): Promise<Opened> {
  const { choice, env, noSandbox, cacheFolder, dataFolder, now } = settings;
  const openWebview = () =>
    openWebviewBackend(
      { env, now, cacheFolder, dataFolder: join(dataFolder, 'webview'), glibc: glibcVersion() },
      options,
    );
  const openChromium = () => openChromiumBackend({ noSandbox, env }, options);
  if (choice === 'webview') return openWebview();
  if (choice === 'chromium') return openChromium();
  const webview = await openWebview();
  if (webview.ok) return webview;
  log.warn('no webview; trying Chromium', { detail: webview.detail });
  const chromium = await openChromium();
  return chromium.ok ? chromium : { ok: false, detail: `${webview.detail} ${chromium.detail}` };
}

/** Null on systems without glibc. */
function glibcVersion(): string | null {
  const report: unknown = process.report.getReport();
  if (typeof report !== 'object' || report === null || !('header' in report)) return null;
  const { header } = report;
  if (typeof header !== 'object' || header === null || !('glibcVersionRuntime' in header)) return null;
  const { glibcVersionRuntime: version } = header;
  return typeof version === 'string' ? version : null;
}
