/** How long the browser may take to read what it saves, in milliseconds. */
const KEPT_MS = 60_000;

/** Offers a text as a file to save. */
export function saveFile(name: string, { text, type }: { text: string; type: string }): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
