import { spawn } from 'node:child_process';
import type { Log } from '../log.ts';

export type Notify = (title: string, text: string) => void;

/** Tells the desktop by `notify-send`; where there is none, says so once and writes each notice to the log. */
export function createNotifier(log: Log, env: NodeJS.ProcessEnv): Notify {
  let isThere = true;
  return (title, text) => {
    log.warn('notice', { title, text });
    if (!isThere) return;
    // What follows "--" is text, whatever it begins with.
    const args = ['--app-name=Tidegate', '--urgency=critical', '--', title, text];
    spawn('notify-send', args, { env, stdio: 'ignore' }).on('error', () => {
      isThere = false;
      log.warn('no notifications: notify-send is missing (Debian package libnotify-bin)');
    });
  };
}
