/**
 * Whisper's tokens in the format of our own decoder: one line each, base64 of the bytes, a space, the number. The
 * published list writes every byte as one visible letter: visible bytes as themselves, the others in order as the
 * letters from U+0100 on.
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
