import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { Type } from 'typebox';
import { createBudget } from '../core/budget.ts';
import { type Commands, command, done, failed } from '../core/commands.ts';

/** Fits into a message of 2 MiB even if every UTF-16 unit takes six bytes of JSON. */
const PIECE_MAX_CHARS = 300_000;
const FILE_MAX_CHARS = 32 * 1024 * 1024;
/** The most unfinished files of all webviews; older ones are discarded, as closed windows leave theirs behind. */
const BEGUN_MAX = 4;
/** Limits a hostile page that could fill the disk: ten files at once, then two a minute. */
const FILES = { perSecond: 1 / 30, burst: 10 };
/** The most files with the same name. */
const SAME_NAME_MAX = 100;
/** The types of file that the console saves; none that a desktop would execute. */
const Name = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}\\.(csv|json|jsonl)$' });

const Piece = Type.Object(
  {
    name: Name,
    text: Type.String({ maxLength: PIECE_MAX_CHARS }),
    isFirst: Type.Boolean(),
    isLast: Type.Boolean(),
  },
  { additionalProperties: false },
);

/** An unfinished file. */
interface Begun {
  readonly document: string;
  readonly name: string;
  readonly texts: string[];
  chars: number;
}

/**
 * The command by which a page of the console saves a file, in place of a browser download: only new files in one
 * folder, sent in pieces because messages are short, one at a time per webview. `now` is monotonic, in milliseconds.
 */
export function fileCommands({ folder, now }: { folder: string; now: () => number }): Commands {
  const begun = new Map<string, Begun>();
  const budget = createBudget(FILES, now);

  function begin(webview: string, file: Begun): void {
    begun.delete(webview);
    begun.set(webview, file);
    const [oldest] = begun.keys();
    if (begun.size > BEGUN_MAX && oldest !== undefined) begun.delete(oldest);
  }

  return {
    'file-save': command(Piece, async ({ name, text, isFirst, isLast }, { sender }) => {
      const { webview, document } = sender;
      if (isFirst) begin(webview, { document, name, texts: [], chars: 0 });
      const file = begun.get(webview);
      if (file?.document !== document || file.name !== name) {
        begun.delete(webview);
        return failed(`${name} has no beginning: the first piece must have isFirst`);
      }
      file.texts.push(text);
      file.chars += text.length;
      if (isLast || file.chars > FILE_MAX_CHARS) begun.delete(webview);
      if (file.chars > FILE_MAX_CHARS) return failed('a file may have at most 32 MB of text');
      if (!isLast) return done();
      if (!budget.take()) return failed('too many files: wait half a minute');
      return keep(folder, name, file.texts.join(''));
    }),
  };
}

/** Never replaces a file: if the name is taken, the new file gets a number. */
async function keep(folder: string, name: string, text: string) {
  const { name: stem, ext } = parse(name);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (let n = 0; n < SAME_NAME_MAX; n++) {
      const path = join(folder, n === 0 ? name : `${stem} (${n})${ext}`);
      if (await writeNew(path, text)) return done(path);
    }
  } catch (error) {
    return failed(`${name} cannot be written to ${folder}: ${messageOf(error)}`);
  }
  return failed(`${folder} has ${SAME_NAME_MAX} files called ${name}: remove some of them`);
}

/** False if the name is taken, even by a link. */
async function writeNew(path: string, text: string): Promise<boolean> {
  const file = await openNew(path);
  if (file === null) return false;
  try {
    await file.writeFile(text);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return true;
}

async function openNew(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return null;
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
