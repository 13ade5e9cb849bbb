/** The shared libraries that the webview needs, and their Debian packages. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/libwebkit2gtk-4\.1|libjavascriptcoregtk-4\.1/, 'libwebkit2gtk-4.1-0'],
  [/libxdo\.so/, 'libxdo3'],
  [/lib(gtk-3|gdk-3)\.so/, 'libgtk-3-0'],
  [/libsoup-3\.0/, 'libsoup-3.0-0'],
];

/** The messages of an error and its causes: one of them says why the library cannot be loaded. */
export function messagesOf(error: unknown): string {
  const messages: string[] = [];
  for (let at: unknown = error; at instanceof Error && messages.length < 10; at = at.cause)
    messages.push(at.message);
  return messages.join('\n');
}

/** Explains why the webview cannot be used here, and what to install. */
export function explainLoadFault(messages: string): string {
  const missing = /(lib[\w.+-]+): cannot open shared object file/.exec(messages)?.[1];
  const found = missing === undefined ? undefined : PACKAGES.find(([library]) => library.test(missing));
  if (found)
    return `The webview needs the package "${found[1]}" (Debian, Ubuntu: apt install ${found[1]}): ${missing} is missing.`;
  if (missing !== undefined) return `The webview needs ${missing}, which is missing on this system.`;
  const glibc = /version `(GLIBC_[\d.]+)' not found/.exec(messages)?.[1];
  if (glibc !== undefined)
    return `The webview library needs a newer C library than this system has (${glibc}).`;
  if (messages.includes('Cannot find module'))
    return 'The webview library for this system is not installed: run "npm ci" with Node 24 or newer, as older ones skip it.';
  return `The webview library cannot be loaded: ${messages.split('\n')[0] ?? ''}`;
}
