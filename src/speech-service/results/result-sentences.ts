import { round3 } from '../../lib/round.ts';
import { splitSentences } from '../../language/text/sentences.ts';
import { timelineOf } from '../../language/timing.ts';
import type { Sentence, Utterance, Word } from '../../protocol/addons.ts';

/** A longer pause ends a sentence even without a mark. */
const longestPauseS = 1.5;

/**
 * The sentences of a transcript. A sentence may continue in the next utterance of its voice: recognisers end an
 * utterance at a pause, people at the end of a sentence.
 */
export function sentencesOf(utterances: readonly Utterance[]): Sentence[] {
  return runsOf(utterances)
    .flatMap(sentencesIn)
    .toSorted((a, b) => a.start - b.start || a.channel - b.channel);
}

/** Joins consecutive utterances of one voice if neither an end mark nor a pause stands between them. */
function runsOf(utterances: readonly Utterance[]): Utterance[] {
  const runs: Utterance[] = [];
  const open = new Map<string, number>();
  for (const utterance of utterances) {
    const voice = `${utterance.channel} ${utterance.speaker ?? ''}`;
    const at = open.get(voice) ?? -1;
    const run = runs[at];
    if (run && goesOn(run, utterance)) runs[at] = together(run, utterance);
    else open.set(voice, runs.push(utterance) - 1);
  }
  return runs;
}

function goesOn(run: Utterance, next: Utterance): boolean {
  return (
    run.language === next.language &&
    next.start - run.end <= longestPauseS &&
    !/[.!?…。！？؟]["'”’)\]]*\s*$/u.test(run.text)
  );
}

function together(run: Utterance, next: Utterance): Utterance {
  const [first, ...rest] = next.words;
  return {
    ...run,
    end: Math.max(run.end, next.end),
    text: `${run.text.trimEnd()} ${next.text.trimStart()}`,
    words: [
      ...run.words,
      ...(first ? [{ ...first, word: ` ${first.word.trimStart()}` }] : []),
      ...rest,
    ],
    confidence: run.confidence,
  };
}

function sentencesIn(run: Utterance): Sentence[] {
  const spans = splitSentences(run.text);
  const words = wordsBySpan(run, spans);
  const at = timelineOf(run);
  return spans.map(({ start, end }, i) => {
    const own = words[i] ?? [];
    const time = at(start, end);
    const [first, ...rest] = own;
    return {
      sentence: run.text.slice(start, end),
      start: first?.start ?? time.start,
      end: own.at(-1)?.end ?? time.end,
      words: first ? [{ ...first, word: first.word.trimStart() }, ...rest] : [],
      confidence:
        own.length === 0
          ? run.confidence
          : round3(own.reduce((sum, word) => sum + word.confidence, 0) / own.length),
      language: run.language,
      speaker: run.speaker,
      channel: run.channel,
    };
  });
}

/**
 * Assigns every word to exactly one sentence: by its place in the text or, if the text does not contain it, with the
 * word before it.
 */
function wordsBySpan(run: Utterance, spans: readonly { end: number }[]): Word[][] {
  const bySpan: Word[][] = spans.map(() => []);
  let at = 0;
  let span = 0;
  for (const word of run.words) {
    const text = word.word.trim();
    // The look-ahead is bounded: a missing word must not cost a scan of the whole text.
    const found = run.text.slice(at, at + text.length + 200).indexOf(text);
    if (text !== '' && found >= 0) {
      while (span < spans.length - 1 && (spans[span]?.end ?? 0) <= at + found) span += 1;
      at += found + text.length;
    }
    bySpan[span]?.push(word);
  }
  return bySpan;
}

/**
 * The transcript as lines for a reader, in the order in which sentences begin. A new line starts where the voice
 * changes, so simultaneous speech appears as turns.
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
