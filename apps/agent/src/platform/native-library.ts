import { errorCode } from './file-layer.ts';

/** Types that a C function takes and gives; a pointer goes in as bytes or null and comes out as a number. */
export type NativeType = 'i32' | 'u32' | 'u64' | 'pointer';
export type NativeSignatures = Record<string, { args: readonly NativeType[]; returns: NativeType }>;
export type NativeFunction = (...values: (number | bigint | Uint8Array | null)[]) => unknown;

export type NativeLibrary =
  | { ok: true; call(name: string, ...values: (number | bigint | Uint8Array | null)[]): unknown }
  | { ok: false; detail: string };

/** Names of the C library: glibc's, then musl's (which is named after the processor), then that of macOS. */
export function cLibraries(
  system: { platform: string; processor: string } = { platform: process.platform, processor: process.arch },
): readonly string[] {
  if (system.platform === 'darwin') return ['libSystem.B.dylib'];
  const processor = system.processor === 'arm64' ? 'aarch64' : 'x86_64';
  return ['libc.so.6', `libc.musl-${processor}.so.1`, `/lib/ld-musl-${processor}.so.1`];
}

/** Opens the first of the libraries that exists and has every function. Bun and Node name the same thing apart. */
export async function openNativeLibrary(
  candidates: readonly string[],
  signatures: NativeSignatures,
): Promise<NativeLibrary> {
  const failures: string[] = [];
  for (const candidate of candidates) {
    try {
      const functions =
        process.versions.bun === undefined
          ? await openWithNode(candidate, signatures)
          : await openWithBun(candidate, signatures);
      return { ok: true, call: (name, ...values) => callNative(functions, name, values) };
    } catch (error) {
      failures.push(`${candidate}: ${errorCode(error)}`);
    }
  }
  return { ok: false, detail: failures.join('; ') };
}

function callNative(
  functions: Map<string, NativeFunction>,
  name: string,
  values: Parameters<NativeFunction>,
) {
  const native = functions.get(name);
  if (native === undefined) throw new TypeError(`no native function ${name}`);
  return native(...values);
}

async function openWithBun(path: string, signatures: NativeSignatures): Promise<Map<string, NativeFunction>> {
  const { dlopen } = await import('bun:ffi');
  const names: Record<NativeType, string> = { i32: 'i32', u32: 'u32', u64: 'u64', pointer: 'ptr' };
  const symbols = Object.fromEntries(
    Object.entries(signatures).map(([name, { args, returns }]) => [
      name,
      { args: args.map((type) => names[type]), returns: names[returns] },
    ]),
  );
  return new Map<string, NativeFunction>(Object.entries(dlopen(path, symbols).symbols));
}

async function openWithNode(
  path: string,
  signatures: NativeSignatures,
): Promise<Map<string, NativeFunction>> {
  const { dlopen } = await import('node:ffi');
  const names = { i32: 'int32', u32: 'uint32', u64: 'uint64', pointer: 'pointer' } as const;
  const definitions = Object.fromEntries(
    Object.entries(signatures).map(([name, { args, returns }]) => [
      name,
      { arguments: args.map((type) => names[type]), return: names[returns] },
    ]),
  );
  return new Map<string, NativeFunction>(Object.entries(dlopen(path, definitions).functions));
}
