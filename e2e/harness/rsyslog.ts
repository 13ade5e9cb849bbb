import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '@tidegate/testkit/free-port';
import { findTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { onTestFinished } from 'vitest';
import { type Child, startChild } from './child.ts';
import { pause } from './operator.ts';

const START_MAX_MS = 30_000;

/** What rsyslog has read of a message; the structured data by its own parser. */
export interface RsyslogMessage {
  readonly pri: string;
  readonly app: string;
  readonly msgid: string;
  readonly data: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly text: string;
}

/** Why there is no rsyslog with TLS here; null if there is. */
export function rsyslogMissing(): string | null {
  const isThere = findTool('rsyslogd', SYSTEM_PATH) !== null;
  return isThere ? null : 'rsyslog is not installed (Debian: apt-get install rsyslog rsyslog-gnutls)';
}

/** Debian's rsyslog, which takes TLS from clients with a certificate of the authority in `ca.pem` of the folder. */
export async function startRsyslog(folder: string) {
  const path = (name: string) => join(folder, name);
  const port = await freePort();
  let child = await start();
  onTestFinished(() => end('SIGTERM'));

  async function start(): Promise<Child> {
    writeFileSync(path('rsyslog.conf'), configuration(path, port));
    rmSync(path('pid'), { force: true });
    const args = ['-n', '-f', path('rsyslog.conf'), '-i', path('pid')];
    const started = startChild('rsyslogd', args, { env: { PATH: SYSTEM_PATH } });
    for (const untilMs = performance.now() + START_MAX_MS; !(await isListening()); ) {
      const fault = started.hasEnded() ? 'ended' : performance.now() > untilMs ? 'does not listen' : null;
      if (fault !== null) throw new Error(`rsyslog ${fault}: ${started.stderr.join('\n')}`);
      await pause(20);
    }
    return started;
  }
  async function isListening(): Promise<boolean> {
    const socket = connect(port, '127.0.0.1');
    const answer = await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => null);
    socket.destroy();
    return answer?.length === 0;
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!child.hasEnded()) child.signal(signal);
    await child.ended;
  }

  return {
    port,
    end,
    async restart(): Promise<void> {
      await end('SIGKILL');
      child = await start();
    },
    messages(): RsyslogMessage[] {
      if (!existsSync(path('messages'))) return [];
      const lines = readFileSync(path('messages'), 'utf8').split('\n');
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
    },
  };
}

/** With a queue that writes each message before the next is read: what was taken is in the file, also after a kill. */
function configuration(path: (name: string) => string, port: number): string {
  const property = (name: string, as: string) => `property(name="${name}" format="jsonf" outname="${as}")`;
  return `
global(workDirectory="${path('.')}" maxMessageSize="8k" defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="${path('ca.pem')}" defaultNetstreamDriverCertFile="${path('receiver.pem')}"
  defaultNetstreamDriverKeyFile="${path('receiver.key')}")
main_queue(queue.type="Direct")
module(load="mmpstrucdata")
module(load="imtcp" streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="x509/certvalid")
input(type="imtcp" address="127.0.0.1" port="${port}")
template(name="read" type="list") {
  constant(value="{")
  ${property('pri', 'pri')} constant(value=",")
  ${property('app-name', 'app')} constant(value=",")
  ${property('msgid', 'msgid')} constant(value=",")
  ${property('msg', 'text')} constant(value=",\\"data\\":")
  property(name="$!rfc5424-sd")
  constant(value="}\\n")
}
action(type="mmpstrucdata")
action(type="omfile" file="${path('messages')}" template="read" asyncWriting="off" flushOnTXEnd="on")
`;
}
