import { ApiError } from './client.ts';

/** The server's messages for single body fields, by the last part of their path; empty for any other error. */
export function fieldFaults(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ApiError)) return {};
  const faults: Record<string, string> = {};
  for (const { path, message } of error.problem?.errors ?? []) {
    const name = path.split('/').at(-1) ?? path;
    faults[name] ??= message;
  }
  return faults;
}
