import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
/** The same engine without an interface, which costs a quarter of each story; taken where it is installed. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How long it may take to start on a busy machine. */
const START_MAX_MS = 120_000;

/** Debian's Chromium without a window. */
export function launchChromium(): Promise<Browser> {
  const named = process.env.CHROMIUM_PATH !== undefined;
  const executablePath = !named && existsSync(HEADLESS_SHELL) ? HEADLESS_SHELL : CHROMIUM;
  return chromium.launch({ executablePath, args: FLAGS, timeout: START_MAX_MS });
}

/** Says which package has the browser; null if it is installed. */
export function browserMissing(): string | null {
  return existsSync(CHROMIUM) ? null : 'chromium is missing (Debian package chromium)';
}
