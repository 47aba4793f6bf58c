/**
 * Makes the engine's token list from Moonshine's tokenizer file. That file is a run of byte strings with
 * their lengths before them; a length from 128 on has its higher part in a second byte. The list has one
 * line for each string: base64 of its bytes, a space, its number.
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
