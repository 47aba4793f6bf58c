/**
 * Whisper's tokens in the form that our own decoder reads: a line for each, base64 of its bytes, a space, its number.
 * The published list writes every byte as one visible letter: visible bytes as themselves, and the others, in order, as
 * the letters from U+0100 on.
 */
export function whisperTokens(vocabulary: string): string {
  const lines = vocabulary.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines
    .map((token, index) => `${bytesOf(token).toString('base64')} ${String(index)}\n`)
    .join('');
}

const isVisible = (byte: number): boolean =>
  (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);

const byteOfLetter = new Map<string, number>();
for (let byte = 0, hidden = 0; byte < 256; byte++)
  byteOfLetter.set(String.fromCharCode(isVisible(byte) ? byte : 256 + hidden++), byte);

function bytesOf(token: string): Buffer {
  return Buffer.from(
    Array.from(token, (letter) => {
      const byte = byteOfLetter.get(letter);
      if (byte === undefined)
        throw new Error(`the vocabulary has a token with the letter ${letter}`);
      return byte;
    }),
  );
}
