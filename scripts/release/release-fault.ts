/** Something given to the release script is wrong; the message is for the person who gave it. */
export class ReleaseFault extends Error {
  override readonly name = 'ReleaseFault';
}
