/** How long the browser may take to read what it saves, in milliseconds. */
const KEPT_MS = 60_000;

/** Lets the user save a text as a file; nothing leaves the page. */
export function saveFile(name: string, { text, type }: { text: string; type: string }): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}

/** The same for data as JSON. */
export function saveJson(name: string, data: unknown): void {
  saveFile(name, { text: `${JSON.stringify(data, null, 2)}\n`, type: 'application/json' });
}
