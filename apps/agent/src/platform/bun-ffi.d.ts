// The part of Bun's own module that native-library.ts uses; its published types would bring all of Bun's globals.
declare module 'bun:ffi' {
  type Signature = { args: readonly string[]; returns: string };
  export function dlopen(
    path: string,
    symbols: Record<string, Signature>,
  ): { symbols: Record<string, (...values: unknown[]) => unknown> };
}
