/**
 * The engine's token list out of Moonshine's own tokenizer file, which is a run of byte strings, each
 * with its length before it: 0 for an empty one, and from 128 on a second byte holds the higher part.
 * One line for each: base64 of the bytes, a space, its number.
 */
export function moonshineTokens(tokenizer: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < tokenizer.length;) {
    let length = tokenizer[at++] ?? 0;
    if (length >= 128) length += (tokenizer[at++] ?? 0) * 128 - 128;
    if (at + length > tokenizer.length) throw new Error('the tokenizer file ends inside a token');
    const token = Buffer.from(tokenizer.subarray(at, at + length)).toString('base64');
    lines.push(`${token} ${String(lines.length)}\n`);
    at += length;
  }
  return lines.join('');
}
