import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';
import { tmpDir } from '@tidegate/testkit/tmp';

const OUT = fileURLToPath(new URL('../out/shell', import.meta.url));
const XVFB = '/usr/bin/Xvfb';

export interface Picture {
  readonly colours: number;
  /** How many pixels have another colour in the other picture. */
  differsFrom(other: Picture): number;
  readonly pixels: Uint32Array;
}

/** A virtual screen. */
export interface Screen extends AsyncDisposable {
  /** The value of DISPLAY. */
  readonly display: string;
  /** Writes a screenshot to e2e/out/shell/NAME.png. */
  picture(name: string): Picture;
}

/** Says which package has it; null if it is installed. */
export function screenMissing(): string | null {
  try {
    accessSync(XVFB);
    return null;
  } catch {
    return 'Xvfb is missing (Debian package xvfb)';
  }
}

/** Starts a screen on a free number. Screenshots are read from its frame buffer, a file in xwd format. */
export async function startScreen(): Promise<Screen> {
  const folder = tmpDir('tidegate-screen-');
  // Without -noreset it starts anew when its last client leaves, and refuses the next one that comes meanwhile.
  const child = spawn(
    XVFB,
    ['-displayfd', '3', '-screen', '0', '1280x800x24', '-fbdir', folder.path, '-nolisten', 'tcp', '-noreset'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
  );
  const said = child.stdio[3];
  if (!(said instanceof Readable)) throw new Error('Xvfb has no pipe');
  const [number] = await once(createInterface({ input: said }), 'line');
  return {
    display: `:${number}`,
    picture(name) {
      const image = readXwd(readFileSync(join(folder.path, 'Xvfb_screen0')));
      mkdirSync(OUT, { recursive: true });
      writeFileSync(join(OUT, `${name}.png`), png(image));
      const pixels = new Uint32Array(image.rgb.buffer);
      return {
        pixels,
        colours: new Set(pixels).size,
        differsFrom: (other) => pixels.filter((pixel, at) => pixel !== other.pixels[at]).length,
      };
    },
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit');
      child.kill();
      await gone;
      folder[Symbol.dispose]();
    },
  };
}

interface Image {
  readonly width: number;
  readonly height: number;
  /** Pixels as 0x00RRGGBB, in the machine's byte order. */
  readonly rgb: Uint32Array<ArrayBuffer>;
}

/** Reads the xwd format as Xvfb writes it: 32 bits per pixel, blue first. */
function readXwd(bytes: Buffer): Image {
  const field = (n: number) => bytes.readUInt32BE(n * 4);
  const [headerSize, width, height, lineBytes, colours] = [
    field(0),
    field(4),
    field(5),
    field(12),
    field(19),
  ];
  const start = headerSize + colours * 12;
  const rgb = new Uint32Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++)
      rgb[y * width + x] = bytes.readUInt32LE(start + y * lineBytes + x * 4) & 0xffffff;
  }
  return { width, height, rgb };
}

function png({ width, height, rgb }: Image): Buffer {
  const rows = Buffer.alloc(height * (width * 3 + 1));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++)
      rows.writeUIntBE(rgb[y * width + x] ?? 0, y * (width * 3 + 1) + 1 + x * 3, 3);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const parts = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}
