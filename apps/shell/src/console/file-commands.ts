import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { Type } from 'typebox';
import { createBudget } from '../core/budget.ts';
import { type Commands, command, done, failed } from '../core/commands.ts';

/** Of a message of 2 MiB that much is left where every unit takes six bytes of JSON. */
const PIECE_MAX_CHARS = 300_000;
const FILE_MAX_CHARS = 32 * 1024 * 1024;
/** Files under way in all webviews, the newest ones: windows come and go, and what they began would stay. */
const BEGUN_MAX = 4;
/** A hostile page could fill the disk: so many files at once, and two a minute from then on. */
const FILES = { perSecond: 1 / 30, burst: 10 };
/** Files of one name that stand side by side. */
const SAME_NAME_MAX = 100;
/** What the console saves; nothing that a desktop would start. */
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

/** A file of which some pieces have come. */
interface Begun {
  readonly document: string;
  readonly name: string;
  readonly texts: string[];
  chars: number;
}

/**
 * The command by which a page of the console keeps a file, where a browser would download it: new files of a folder
 * alone, in pieces as messages are short. A webview has one at a time. `now` is in milliseconds and never goes back.
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
        return failed(`${name} has no beginning: the first piece has isFirst`);
      }
      file.texts.push(text);
      file.chars += text.length;
      if (isLast || file.chars > FILE_MAX_CHARS) begun.delete(webview);
      if (file.chars > FILE_MAX_CHARS) return failed('a file has at most 32 MB of text');
      if (!isLast) return done();
      if (!budget.take()) return failed('there were too many files: wait half a minute');
      return keep(folder, name, file.texts.join(''));
    }),
  };
}

/** Never another file's place: under a name that is taken it gets a number. */
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

/** False where something of that name is there, a link too. */
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
