/**
 * Makes the engine's token list from Moonshine's tokenizer file. That file is a sequence of byte strings, each after
 * its length; a length of 128 or more uses a second byte. The list has one line per string: base64 of its bytes, a
 * space, its number.
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
