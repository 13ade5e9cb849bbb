import { attempt, toast } from './toasts.tsx';

/** How long the browser may take to read what it saves, in milliseconds. */
const KEPT_MS = 60_000;

declare global {
  interface Window {
    /** The desktop shell's way, where there are no downloads; resolves with the path, rejects with the reason. */
    readonly saveInDownloads?: (name: string, text: string) => Promise<string>;
  }
}

/**
 * Lets the user save a text as a file, where downloads go; nothing leaves the page. Resolves with the place where that
 * is known: a browser keeps it to itself. Rejects where it is not saved.
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

/** The same for data as JSON; says where it is saved, or why it is not. */
export async function saveJson(name: string, data: unknown): Promise<void> {
  const file = { text: `${JSON.stringify(data, null, 2)}\n`, type: 'application/json' };
  const path = await attempt(() => saveFile(name, file));
  if (typeof path === 'string') toast(`Saved in ${path}.`);
}
