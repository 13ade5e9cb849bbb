/** The most lines that the page keeps; older ones are dropped from the top. */
export const LINES_MAX = 5_000;
/** The most characters shown of one line. */
export const LINE_MAX_CHARS = 4_000;
/** The longest unfinished escape sequence that is held back, in characters; a longer one becomes text. */
const HELD_MAX_CHARS = 256;

/** A program's output as lines of text; `open` is the unfinished last line. */
export interface OutputLog {
  readonly lines: readonly string[];
  readonly open: string;
  /** Lines that were dropped from the top. */
  readonly dropped: number;
  /** The start of an escape sequence that the next piece continues. */
  readonly held: string;
}

export const EMPTY_LOG: OutputLog = { lines: [], open: '', dropped: 0, held: '' };

// ECMA-48: control sequences (CSI), strings (OSC, DCS, APC, PM, SOS) up to their end, and short escapes.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\`-~]|\x9b[0-?]*[ -/]*[@-~]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: an unfinished escape sequence
const UNFINISHED = /(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?|\x9b[0-?]*[ -/]*)$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: everything but tab and line feed
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;

/** Text without escape sequences and control characters: what is left is only ever shown as text. */
export function stripControls(text: string): string {
  return text.replace(SEQUENCE, '').replace(CONTROLS, '');
}

/** Appends a piece to the log. A line that is overwritten (`\r`) shows its last content. */
export function addOutput(log: OutputLog, piece: string): OutputLog {
  const text = log.held + piece;
  const tail = UNFINISHED.exec(text)?.[0] ?? '';
  const held = tail.length <= HELD_MAX_CHARS ? tail : '';
  const whole = held === '' ? text : text.slice(0, -held.length);
  // A carriage return at the end may be half of a line end.
  const parts = (log.open + whole.replace(SEQUENCE, '')).replaceAll('\r\n', '\n').split('\n');
  const open = (parts.pop() ?? '').slice(-LINE_MAX_CHARS * 2);
  const lines = [...log.lines, ...parts.map(shownLine)];
  const over = Math.max(0, lines.length - LINES_MAX);
  return { lines: over > 0 ? lines.slice(over) : lines, open, dropped: log.dropped + over, held };
}

/** The log as one text, the open line last. */
export function outputText({ lines, open }: OutputLog): string {
  return [...lines, ...(open === '' ? [] : [shownLine(open)])].join('\n');
}

/** Separates the followed output from the host's report when the first lacks the end of the second. */
export const REPORT_FOLLOWS = '[end of the output as the host reported it]';

/** The output of a finished command: the host's report is authoritative, the followed output may have gaps. */
export function endedText(followed: string, tail: string | null): { text: string; isPatched: boolean } {
  const reported = outputText(addOutput(EMPTY_LOG, tail ?? ''));
  if (followed.endsWith(reported)) return { text: followed, isPatched: false };
  if (reported.endsWith(followed)) return { text: reported, isPatched: false };
  return { text: `${followed}\n${REPORT_FOLLOWS}\n${reported}`, isPatched: true };
}

function shownLine(line: string): string {
  const written = line.split('\r').findLast((part) => part !== '') ?? '';
  const text = stripControls(written);
  return text.length > LINE_MAX_CHARS ? `${text.slice(0, LINE_MAX_CHARS)}…` : text;
}
