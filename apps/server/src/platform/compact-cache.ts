/** Slots that a bucket has; a key may lie in any slot of its two buckets. */
const WAYS = 8;
const KEY_WORDS = 4;
/** The key, and the second in which the record ends. */
const HEAD_WORDS = KEY_WORDS + 1;
const FIRST_BUCKETS = 64;
const GROWTH = 1.5;
/** Share of the slots in use at which a cache grows: two choices of eight slots fill this far without evicting. */
const FILLED_SHARE = 0.85;
/** Buckets that each new record takes along from the table before the last growth. */
const MOVED_PER_RECORD = 2;

/**
 * Records of a few numbers under 128-bit keys, in one typed array: about 70 bytes for an agent's token where objects
 * take 500, and nothing for the garbage collector to visit. For what can be found out again: a full cache evicts.
 */
export interface CompactCache {
  /** All records. Growing replaces the array: read it after the call that returned an offset. */
  readonly words: Uint32Array;
  /** Size of the arrays, in bytes. */
  readonly bytes: number;
  /** Offset in `words` of the key's values; -1 for a key that is unknown, or ended before `nowSeconds`. */
  find(key: Uint32Array, nowSeconds: number): number;
  /** Offset at which the key's values can be written; they hold what another record left there. */
  claim(key: Uint32Array, at: { nowSeconds: number; untilSeconds: number }): number;
}

interface Table {
  readonly words: Uint32Array;
  readonly buckets: number;
}

/**
 * `valueWords`: 32-bit words of each record. Past `bytesMax` a new record takes the slot of any of sixteen others, so that
 * the share of hits falls gently as more keys take turns; first in, first out would lose all of them at once.
 *
 * A key's first two words choose its buckets and must not be for others to choose: a hash, or random bytes.
 */
export function createCompactCache(options: { valueWords: number; bytesMax: number }): CompactCache {
  const slotWords = HEAD_WORDS + options.valueWords;
  const bucketWords = WAYS * slotWords;
  const bucketsMax = Math.max(
    1,
    Math.floor(options.bytesMax / (bucketWords * Uint32Array.BYTES_PER_ELEMENT)),
  );
  let table = createTable(Math.min(FIRST_BUCKETS, bucketsMax));
  /** The table before the last growth, until its records are moved; a key is in one of the two. */
  let earlier: Table | null = null;
  let movedBuckets = 0;
  let usedSlots = 0;
  let turn = 0;

  function createTable(buckets: number): Table {
    return { words: new Uint32Array(buckets * bucketWords), buckets };
  }

  function slotOf({ words, buckets }: Table, key: Uint32Array): number {
    for (let choice = 0; choice < 2; choice++) {
      const first = bucketOf(key, { choice, buckets }) * bucketWords;
      for (let slot = first; slot < first + bucketWords; slot += slotWords) {
        if (
          words[slot] === key[0] &&
          words[slot + 1] === key[1] &&
          words[slot + 2] === key[2] &&
          words[slot + 3] === key[3] &&
          words[slot + KEY_WORDS] !== 0
        ) {
          return slot;
        }
      }
    }
    return -1;
  }

  /** A slot for a new key: one that is free, in the emptier of its two buckets; any of them when none is. */
  function chooseSlot({ words, buckets }: Table, key: Uint32Array, nowSeconds: number): number {
    let chosen = -1;
    let most = 0;
    for (let choice = 0; choice < 2; choice++) {
      const first = bucketOf(key, { choice, buckets }) * bucketWords;
      let free = 0;
      let last = -1;
      for (let slot = first; slot < first + bucketWords; slot += slotWords) {
        if ((words[slot + KEY_WORDS] ?? 0) > nowSeconds) continue;
        free++;
        last = slot;
      }
      if (free > most) [chosen, most] = [last, free];
    }
    return chosen;
  }

  function evict({ buckets }: Table, key: Uint32Array): number {
    turn = (Math.imul(turn, 1_664_525) + 1_013_904_223) >>> 0;
    const [choice, way] = [turn >>> 31, (turn >>> 28) & (WAYS - 1)];
    return bucketOf(key, { choice, buckets }) * bucketWords + way * slotWords;
  }

  function grow(): void {
    earlier = table;
    movedBuckets = 0;
    table = createTable(Math.min(bucketsMax, Math.ceil(table.buckets * GROWTH)));
    usedSlots = 0;
  }

  /** Takes a few buckets along into the grown table, so that no single call moves all of them. */
  function moveSome(nowSeconds: number): void {
    if (earlier === null) return;
    const end = Math.min(earlier.buckets, movedBuckets + MOVED_PER_RECORD);
    for (let slot = movedBuckets * bucketWords; slot < end * bucketWords; slot += slotWords) {
      if ((earlier.words[slot + KEY_WORDS] ?? 0) > nowSeconds) moveSlot(earlier, slot, nowSeconds);
    }
    movedBuckets = end;
    if (end === earlier.buckets) earlier = null;
  }

  function moveSlot(from: Table, slot: number, nowSeconds: number): number {
    const record = from.words.subarray(slot, slot + slotWords);
    const to = freeSlot(record, nowSeconds);
    table.words.set(record, to);
    record[KEY_WORDS] = 0;
    return to;
  }

  function freeSlot(key: Uint32Array, nowSeconds: number): number {
    let slot = chooseSlot(table, key, nowSeconds);
    if (slot === -1 && earlier === null && table.buckets < bucketsMax) {
      grow();
      slot = chooseSlot(table, key, nowSeconds);
    }
    if (slot === -1) return evict(table, key);
    if (table.words[slot + KEY_WORDS] === 0) usedSlots++;
    return slot;
  }

  /** The slot of a key in the present table, into which it is moved if need be. */
  function present(key: Uint32Array, nowSeconds: number): number {
    const slot = slotOf(table, key);
    if (slot !== -1 || earlier === null) return slot;
    const old = slotOf(earlier, key);
    return old === -1 ? -1 : moveSlot(earlier, old, nowSeconds);
  }

  return {
    get words() {
      return table.words;
    },
    get bytes() {
      return table.words.byteLength + (earlier?.words.byteLength ?? 0);
    },
    find(key, nowSeconds) {
      const slot = present(key, nowSeconds);
      return slot === -1 || (table.words[slot + KEY_WORDS] ?? 0) <= nowSeconds ? -1 : slot + HEAD_WORDS;
    },
    claim(key, { nowSeconds, untilSeconds }) {
      moveSome(nowSeconds);
      const isFilled = usedSlots > table.buckets * WAYS * FILLED_SHARE;
      if (isFilled && earlier === null && table.buckets < bucketsMax) grow();
      const known = present(key, nowSeconds);
      const slot = known === -1 ? freeSlot(key, nowSeconds) : known;
      table.words.set(key, slot);
      table.words[slot + KEY_WORDS] = untilSeconds;
      return slot + HEAD_WORDS;
    },
  };
}

/** Spread by a multiplication, as parts of a UUID are fixed. */
function bucketOf(key: Uint32Array, { choice, buckets }: { choice: number; buckets: number }): number {
  const mixed = Math.imul((key[choice] ?? 0) ^ ((key[choice] ?? 0) >>> 15), 0x9e37_79b1) >>> 0;
  return Math.floor((mixed / 0x1_0000_0000) * buckets);
}
