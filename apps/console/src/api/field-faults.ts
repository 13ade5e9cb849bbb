import { ApiError } from './client.ts';

/** What the server says of single fields of a body, by the last part of their path; empty for every other error. */
export function fieldFaults(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof ApiError)) return {};
  const faults: Record<string, string> = {};
  for (const { path, message } of error.problem?.errors ?? []) {
    const name = path.split('/').at(-1) ?? path;
    faults[name] ??= message;
  }
  return faults;
}
