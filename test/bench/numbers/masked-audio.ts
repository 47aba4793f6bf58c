import { wavSamples } from '../../support/recognition/prompts.ts';
import { hear, pushAll } from '../../support/recognition/recogniser.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { digitsIn } from '../../support/language/digits-in.ts';
import type { SpokenNumber } from './utterances.ts';

export type MaskedCall = { said: SpokenNumber; recording: Buffer };

const partDigits = 4;

/**
 * Reads what can be played of redacted calls with both readers, the live one and the second one for recordings, each
 * channel alone. Tells how many secrets are heard whole, or with four digits in a row, and how many recordings are
 * nothing but silence to both.
 */
export async function heardInRecordings(
  recogniser: Recogniser,
  calls: readonly MaskedCall[],
  isShown: (said: SpokenNumber) => boolean,
): Promise<string> {
  const lines: string[] = [];
  for (const recorded of [false, true]) {
    const counts = { whole: 0, part: 0, words: 0 };
    for (const { said, recording } of calls) {
      const texts: string[] = [];
      for (const channel of [0, 1]) {
        const heard = hear(recogniser, { recorded, endpointingS: 0.3, maximumDurationS: 15, partials: false }); // prettier-ignore
        pushAll(heard.stream, channelOf(recording, channel));
        await heard.end();
        texts.push(heard.text());
      }
      const digits = texts.map(digitsIn);
      if (isShown(said)) lines.push(`${said.kind} ${said.value}: ${texts.join(' | ')}`);
      counts.words += texts.join(' ').split(/\s+/).filter(Boolean).length;
      if (digits.some((one) => one.includes(said.value))) counts.whole += 1;
      else if (partsOf(said.value).some((part) => digits.some((one) => one.includes(part))))
        counts.part += 1;
    }
    lines.push(
      `${recorded ? 'second reader' : 'live reader'}: of ${String(calls.length)} recordings ${String(counts.whole)} have the secret whole, ` +
        `${String(counts.part)} a part of it; ${String(counts.words)} words are heard`,
    );
  }
  return lines.join('\n');
}

function partsOf(value: string): string[] {
  return Array.from({ length: Math.max(0, value.length - partDigits) }, (_, at) =>
    value.slice(at, at + partDigits),
  );
}

/** One channel of a recording at 8 kHz, which has two. */
function channelOf(recording: Buffer, channel: number): Int16Array {
  const both = wavSamples(recording);
  return Int16Array.from({ length: both.length >> 1 }, (_, at) => both[2 * at + channel] ?? 0);
}
