import type { SentimentItem, TranslatedTranscript, Utterance } from '../../protocol/addons.ts';
import type { PreRecordedResult } from '../../protocol/job.ts';
import { personName } from '../../protocol/people.ts';

/** A longer pause than this begins a new turn or a new paragraph. */
const pauseS = 2;

/** The words as readable text: turns if several people speak, paragraphs if one does. */
export function transcriptText(
  { full_transcript, utterances, sentences }: TranslatedOrOwn,
  channels: number,
): string {
  const isDialogue = channels > 1 || utterances.some(({ speaker }) => speaker !== undefined);
  if (utterances.length === 0) return full_transcript.trim();
  if (isDialogue)
    return runsOf(utterances, isSameVoice)
      .map((run) => `[${clockTime(run.start)}] ${personName({ ...run, channels })}: ${run.text}`)
      .join('\n');
  const list = sentences?.[0]?.results?.map((one) =>
    (typeof one === 'string' ? one : one.sentence).trim(),
  );
  if (list && list.length > 0) return list.join('\n');
  return runsOf(utterances, () => true)
    .map(({ text }) => text)
    .join('\n\n');
}

type TranslatedOrOwn = Omit<TranslatedTranscript, 'error'>;

/** The whole result, with one section for each requested part. */
export function resultText(result: PreRecordedResult, withTranslations: boolean): string {
  const { transcription, summarization, chapterization } = result;
  const channels = result.metadata.number_of_distinct_channels;
  const sections: string[] = [];
  const section = (title: string, lines: string[]): void => {
    if (lines.length > 0) sections.push(`${title}\n\n${lines.join('\n')}`);
  };
  if (transcription) sections.push(transcriptText(transcription, channels));
  if (withTranslations)
    for (const one of result.translation?.results ?? [])
      if (one.error === null)
        section(`Translation (${one.languages.join(', ')})`, [transcriptText(one, channels)]);
  if (summarization?.results) section('Summary', [summarization.results.trim()]);
  const chapters = chapterization?.results;
  section(
    'Chapters',
    (Array.isArray(chapters) ? chapters : (chapters?.chapters ?? [])).map(
      ({ start, headline, gist }) =>
        `[${clockTime(start)}] ${headline}${gist && gist !== headline ? `: ${gist}` : ''}`,
    ),
  );
  section(
    'Entities',
    (result.named_entity_recognition?.results ?? []).map(
      ({ start, entity_type, text }) => `[${clockTime(start)}] ${entity_type}: ${text.trim()}`,
    ),
  );
  section(
    'Sentiment',
    sentimentsOf(result).map(
      ({ start, sentiment, emotion, text }) =>
        `[${clockTime(start)}] ${sentiment} (${emotion}): ${text.trim()}`,
    ),
  );
  return withoutControl(`${sections.filter(Boolean).join('\n\n')}\n`);
}

/** A time as hours, minutes and seconds. */
export function clockTime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(Math.floor(whole / 3_600))}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/**
 * Removes control characters. Words come from a model, perhaps on a stranger's server, and must not control the
 * terminal.
 */
export function withoutControl(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}

type SpokenRun = {
  start: number;
  end: number;
  text: string;
  channel: number;
  speaker?: number | undefined;
};

/** Groups neighbours that belong together. */
function runsOf(
  utterances: readonly Utterance[],
  belong: (run: SpokenRun, next: Utterance) => boolean,
): SpokenRun[] {
  const runs: SpokenRun[] = [];
  for (const next of utterances) {
    const run = runs.at(-1);
    const { start, end, channel, speaker } = next;
    const text = next.text.trim();
    if (run && belong(run, next) && start - run.end <= pauseS) {
      run.text = `${run.text} ${text}`;
      run.end = Math.max(run.end, end);
    } else runs.push({ start, end, channel, text, speaker });
  }
  return runs.filter(({ text }) => text !== '');
}

function isSameVoice(run: SpokenRun, next: Utterance): boolean {
  return run.speaker === next.speaker && run.channel === next.channel;
}

/** The list, or its JSON text, as the speech interface has it. Anything else is ignored. */
function sentimentsOf({ sentiment_analysis: block }: PreRecordedResult): SentimentItem[] {
  const results = block?.results;
  if (typeof results !== 'string') return results ?? [];
  try {
    const list: unknown = JSON.parse(results || '[]');
    return Array.isArray(list) ? (list as SentimentItem[]) : [];
  } catch {
    return [];
  }
}
