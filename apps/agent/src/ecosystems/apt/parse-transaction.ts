/** The result of parsing a package manager's output: complete or a reason. */
export type Parsed<T> = { ok: true; value: T } | { ok: false; reason: string };

/** A package that is installed after the transaction. */
export interface Change {
  name: string;
  /** Of the new package: the host's own, `all`, or a foreign one. */
  arch: string;
  from: string | null;
  to: string;
  /** As apt names it: `Debian-Security:12/oldstable-security`, separated by ", ". */
  origin: string;
}

export interface Removal {
  name: string;
  /** Null where apt leaves it out: the host's own architecture or `all`. */
  arch: string | null;
  from: string;
}

export interface Transaction {
  changes: Change[];
  removals: Removal[];
}

// "Inst name[:foreign] [old] (new origins [arch]) [a:arch on b:arch] [names broken meanwhile ]"; labels are free text, hence
// the greedy middle. "Inst name (new …)" has nothing installed, "(new  [arch])" comes from no archive.
const INST =
  /^Inst ([^\s:]+)(?::(\S+))? (?:\[([^\]\s]+)\] )?\((\S+) (.*) \[([^\]\s]+)\]\)(?: \[[^\]]*\])*\s*$/;
const REMV = /^(?:Remv|Purg) ([^\s:]+)(?::(\S+))? \[([^\]\s]+)\](?: \[[^\]]*\])*\s*$/;
const CONF = /^Conf ([^\s:]+)(?::\S+)? \(\S+ .*\)(?: \[[^\]]*\])*\s*$/;

/**
 * Reads the `Inst`, `Remv` and `Conf` lines of `apt-get -s`; banners and human-readable lists are skipped. A
 * malformed line of these kinds invalidates the whole output.
 */
export function parseTransaction(output: string): Parsed<Transaction> {
  const changes = new Map<string, Change>();
  const removals = new Map<string, Removal>();
  /** The versions that are replaced, by the name that apt shows. */
  const replaced = new Map<string, string | null>();
  for (const line of output.split('\n')) {
    if (!/^(?:Inst|Remv|Purg|Conf) /.test(line)) continue;
    const inst = INST.exec(line);
    const remv = REMV.exec(line);
    if (inst) {
      const [, name = '', foreign = '', from = null, to = '', origin = '', arch = ''] = inst;
      const key = `${name}:${arch}`;
      if (changes.has(key)) return { ok: false, reason: `apt names ${key} twice` };
      changes.set(key, { name, arch, from, to, origin });
      replaced.set(`${name}:${foreign}`, from);
    } else if (remv) {
      const [, name = '', arch = null, from = ''] = remv;
      removals.set(`${name}:${arch ?? ''}`, { name, arch, from });
    } else if (!CONF.test(line)) {
      return { ok: false, reason: `a line of apt cannot be read: ${JSON.stringify(line.slice(0, 200))}` };
    }
  }
  // To break a conflict loop apt may remove a package before installing its new version: not a removal.
  const gone = [...removals].filter(([shown, { from }]) => replaced.get(shown) !== from);
  return {
    ok: true,
    value: { changes: [...changes.values()], removals: gone.map(([, removal]) => removal) },
  };
}
