import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { runProgram } from '../platform/run-program.ts';
import { PROBE_SECONDS, type ProbeFile } from './probe-file.ts';
import { findProgramFault } from './root-program.ts';
import { GREEN, red, type Seen, unknown } from './seen.ts';
import type { Units } from './units.ts';

/** Of an answer, in bytes; text after that is not looked for. */
const BODY_MAX_BYTES = 64 * 1024;
/** Of what a program says, in bytes. */
const OUTPUT_MAX_BYTES = 16 * 1024;

export interface ProbeMeans {
  place: PolicyPlace;
  units: Units;
}

/** Carries out one probe. `unknown`: it could not be carried out, which says nothing about the service. */
export async function runProbe(probe: ProbeFile, { place, units }: ProbeMeans): Promise<Seen> {
  const timeoutMs = (probe.timeout_seconds ?? PROBE_SECONDS) * 1_000;
  switch (probe.kind) {
    case 'unit':
      return units.isActive(probe.unit, timeoutMs);
    case 'failed_units':
      return units.newlyFailed();
    case 'tcp':
      return connectTo({ host: probe.host ?? '127.0.0.1', port: probe.port }, timeoutMs);
    case 'http':
      return askHttp(probe, timeoutMs);
    case 'program':
      return runOf(probe, place, timeoutMs);
  }
}

function connectTo({ host, port }: { host: string; port: number }, timeoutMs: number): Promise<Seen> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (seen: Seen) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(seen);
    };
    const timer = setTimeout(() => end(red(`no connection within ${timeoutMs / 1_000} s`)), timeoutMs);
    socket.once('connect', () => end(GREEN));
    socket.once('error', (error) => end(red(codeOf(error))));
  });
}

/** Asks once: no redirect is followed, and what the answer says beyond the limit is not read. */
function askHttp(
  { url, status, body_contains: wanted }: Extract<ProbeFile, { kind: 'http' }>,
  timeoutMs: number,
): Promise<Seen> {
  if (!URL.canParse(url)) return Promise.resolve(unknown('the url cannot be understood'));
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const asked = request(url, { agent: false, headers: { 'user-agent': 'tidegate-probe' } });
    const end = (seen: Seen) => {
      clearTimeout(timer);
      asked.destroy();
      resolve(seen);
    };
    const timer = setTimeout(() => end(red(`no whole answer within ${timeoutMs / 1_000} s`)), timeoutMs);
    asked.on('error', (error) => end(red(codeOf(error))));
    asked.once('response', (answer) => {
      const code = answer.statusCode ?? 0;
      const isWanted = status === undefined ? code >= 200 && code <= 299 : status.includes(code);
      if (!isWanted) return end(red(`answered ${code}`));
      if (wanted === undefined) return end(GREEN);
      const chunks: Buffer[] = [];
      let bytes = 0;
      const judge = () => {
        const body = Buffer.concat(chunks).subarray(0, BODY_MAX_BYTES).toString('utf8');
        end(body.includes(wanted) ? GREEN : red(`answered ${code} without the text that is looked for`));
      };
      answer.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes >= BODY_MAX_BYTES) judge();
      });
      answer.once('end', judge);
      answer.on('error', (error) => end(red(codeOf(error))));
    });
    asked.end();
  });
}

async function runOf(
  { program, args = [] }: Extract<ProbeFile, { kind: 'program' }>,
  place: PolicyPlace,
  timeoutMs: number,
): Promise<Seen> {
  const fault = findProgramFault(program, place);
  if (fault !== null) return unknown(fault);
  const ran = await runProgram({
    ...{ program, args, timeoutMs, maxOutputBytes: OUTPUT_MAX_BYTES, onOverflow: 'keep_tail' },
    endsGroup: true,
  });
  if (ran.ok) return GREEN;
  const isStarted = ran.reason !== 'not_found' && ran.reason !== 'not_started';
  if (!isStarted) return unknown(ran.detail);
  return red(ran.reason === 'timed_out' ? `not done within ${timeoutMs / 1_000} s` : lastLine(ran));
}

/** What a program said last, which is what people look for. */
function lastLine({ stdout, exitCode }: { stdout: string; exitCode: number | null }): string {
  const last = stdout.trim().split('\n').at(-1) ?? '';
  const ended = exitCode === null ? 'ended by a signal' : `exit status ${exitCode}`;
  return last === '' ? ended : `${ended}: ${last}`;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}
