import type { Sentence } from '../../protocol/addons.ts';

/**
 * The transcript as lines to be read: in the order in which the sentences begin, a new line where the voice changes,
 * so that what two people say at once stands as they took turns.
 */
export function displayLines(sentences: readonly Sentence[]): string[] {
  const lines: { voice: string; text: string }[] = [];
  for (const { sentence, channel, speaker } of sentences) {
    const voice = `${channel} ${speaker ?? ''}`;
    const last = lines.at(-1);
    if (last?.voice === voice) last.text += ` ${sentence}`;
    else lines.push({ voice, text: sentence });
  }
  return lines.map(({ text }) => text);
}
