import { ApiError } from './client.ts';

/** The server's messages for single body fields, by the last part of their path; empty for any other error. */
export function fieldFaults(error: unknown): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {};
  for (const { path, message } of faultsOf(error)) {
    const name = path.split('/').at(-1) ?? path;
    faults[name] ??= message;
  }
  return faults;
}

/** The server's message for exactly one part of the body, by its JSON pointer. */
export function faultAt(error: unknown, pointer: string): string | undefined {
  return faultsOf(error).find(({ path }) => path === pointer)?.message;
}

/** The first message about a part of the body, or about anything in it. */
export function faultUnder(error: unknown, pointer: string): string | undefined {
  return faultsOf(error).find(({ path }) => path === pointer || path.startsWith(`${pointer}/`))?.message;
}

function faultsOf(error: unknown) {
  return error instanceof ApiError ? (error.problem?.errors ?? []) : [];
}
