import { attempt, toast } from './toasts.tsx';

/** How long the browser may take to read the file, in milliseconds. */
const KEPT_MS = 60_000;

declare global {
  interface Window {
    /** Set by the desktop shell, which has no downloads; resolves with the path, rejects with the reason. */
    readonly saveInDownloads?: (name: string, text: string) => Promise<string>;
  }
}

/**
 * Saves a text as a file in the folder for downloads; nothing is sent anywhere. Resolves with the path, or null in a
 * browser, which does not reveal it. Rejects if the file was not saved.
 */
export async function saveFile(
  name: string,
  { text, type }: { text: string; type: string },
): Promise<string | null> {
  if (window.saveInDownloads) return window.saveInDownloads(name, text);
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
  return null;
}

/** Saves data as JSON and shows where, or why it was not saved. */
export async function saveJson(name: string, data: unknown): Promise<void> {
  const file = { text: `${JSON.stringify(data, null, 2)}\n`, type: 'application/json' };
  const path = await attempt(() => saveFile(name, file));
  if (typeof path === 'string') toast(`Saved in ${path}.`);
}
