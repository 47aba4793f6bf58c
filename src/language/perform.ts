import { asBlock, needsProvider } from './block.ts';
import { isAbroad } from './abroad/number-words.ts';
import { notCovered } from './coverage.ts';
import { findEntities } from './entities/find-entities.ts';
import { redactStep } from './redaction/redact.ts';
import { redactAll, redactKnown } from './redaction/redact-all.ts';
import { rewriteUtterance } from './rewrite/rewrite.ts';
import { scoreSentiment, unknownSentiment } from './sentiment/score.ts';
import { chaptersOf, severalOf, type TimedTurn } from './summary/chapters.ts';
import { courseOf } from './sentiment/course.ts';
import { mainLanguageOf } from './main-language.ts';
import { summarize, toldFrom, withoutDay } from './wrap-up/summarize.ts';
import { recordOf } from './wrap-up/record.ts';
import { wrapUpFrom } from './wrap-up/as-wrap-up.ts';
import type { CoveredSpan } from './redaction/redact.ts';
import { entitiesOfTurns, withSpelledNames } from './values/of-turns.ts';
import { valueOf } from './values/value.ts';
import { writtenText } from './values/written.ts';
import { writtenUtterance } from './values/written-words.ts';
import { entitiesOverFinals } from './values/over-finals.ts';
import { turnOf, type LanguageTasks, type TaskName } from './tasks.ts';
import { splitSentences } from './text/sentences.ts';
import { timelineOf } from './timing.ts';
import type { CallInsight, FeltSentences, SpokenTurn, ValueContext } from './types.ts';
import type { SummarizationType } from '../protocol/addon-configs.ts';
import type { NamedEntity, SentimentItem, Utterance } from '../protocol/addons.ts';

type Perform = {
  [K in TaskName]: (input: LanguageTasks[K]['input']) => LanguageTasks[K]['output'];
};

const perform: Perform = {
  rewrite: ({ utterance, realtime }) => {
    try {
      return rewriteUtterance(utterance, realtime);
    } catch {
      // If the rewrite fails, the recognised words stay.
      return utterance;
    }
  },
  entities: ({ utterance, types, day }) =>
    asBlock(() => ({
      ...listed(entitiesIn(utterance, { types, day })),
      notCovered: notCovered('entities', [utterance.language]),
    })),
  entitiesOverFinals: (input) => asBlock(() => listed(entitiesOverFinals(input))),
  sentiment: ({ utterance, felt }) => asBlock(() => sentimentsOf([utterance], felt)),
  translation: ({ config }) => config.target_languages.map(() => needsProvider('translation')),
  audioToLlm: () => needsProvider('audio_to_llm'),
  structuredData: () => needsProvider('structured_data_extraction'),
  summarization: ({ utterances, type }) =>
    asBlock(() => {
      const turns = utterances.map(turnOf);
      const language = mainLanguageOf(utterances);
      const results = summarize(turns, type, withoutDay(turns, language));
      return {
        results,
        isEmpty: results === '',
        notCovered: notCovered('summary', languagesOf(utterances)),
      };
    }),
  chapterization: ({ utterances, starts }) =>
    asBlock(() => {
      const chapters = chaptersOf(utterances.map(turnOf), starts, mainLanguageOf(utterances));
      return {
        results: { chapters },
        isEmpty: chapters.length === 0,
        notCovered: notCovered('chapters', languagesOf(utterances)),
      };
    }),
  call: ({ turns, summaryType, language, about }) =>
    asBlock(() => ({
      results: insightOf(turns, summaryType, language, about),
      isEmpty: turns.length === 0,
    })),
  written: ({ texts, context }) =>
    asBlock(() => listed(texts.map((text) => writtenText(text, context)))),
  writtenAll: ({ texts, context }) =>
    asBlock(() => listed(texts.map((text) => writtenText(text, context)))),
  writtenUtterances: ({ utterances }) => asBlock(() => listed(utterances.map(writtenUtterance))),
  redact: (input) =>
    asBlock(() => {
      const results = redactStep(input);
      const { write } = input;
      if (write)
        for (const piece of results.released) piece.written = writtenText(piece.text, write);
      return { results, isEmpty: false };
    }),
  rewriteAll: ({ utterances, realtime }) =>
    asBlock(() => listed(utterances.map((utterance) => rewriteUtterance(utterance, realtime)))),
  redactKnown: (input) => asBlock(() => listed(redactKnown(input))),
  redactAll: (input) => asBlock(() => ({ results: redactAll(input), isEmpty: false })),
  entitiesAll: ({ utterances, day }) =>
    asBlock(() => ({
      ...listed(
        utterances.flatMap((utterance) =>
          entitiesIn(utterance, { day, covered: utterance.covered }),
        ),
      ),
      notCovered: notCovered('entities', languagesOf(utterances)),
    })),
  sentimentAll: ({ utterances, felt }) => asBlock(() => sentimentsOf(utterances, felt)),
  translateAll: () => needsProvider('translation'),
};

function listed<T>(results: T[]): { results: T[]; isEmpty: boolean } {
  return { results, isEmpty: results.length === 0 };
}

/**
 * Entities found in an utterance, and those that a redaction has covered in it: a marker counts as an entity of its
 * type.
 */
function entitiesIn(
  utterance: Utterance,
  {
    types,
    day,
    covered = [],
  }: {
    types?: readonly string[] | undefined;
    day?: string | undefined;
    covered?: readonly CoveredSpan[] | undefined;
  },
): NamedEntity[] {
  const at = timelineOf(utterance);
  const found = findEntities(utterance.text, types, utterance.language).filter(
    (span) => !covered.some((other) => other.start < span.end && span.start < other.end),
  );
  return [...found, ...covered]
    .toSorted((a, b) => a.start - b.start)
    .map((span) => {
      const { type, start, end } = span;
      const text = utterance.text.slice(start, end);
      const isHidden = covered.some((other) => other === span);
      const value =
        day === undefined || isHidden
          ? {}
          : valueOf(type, text, { day, language: utterance.language });
      return { entity_type: type, text, ...at(start, end), ...value };
    });
}

const lateModel = 'some moods are unknown: the model did not answer in time';

function languagesOf(utterances: readonly Utterance[]): string[] {
  return utterances.map(({ language }) => language);
}

function sentimentsOf(
  utterances: readonly Utterance[],
  felt: FeltSentences | undefined,
): { results: SentimentItem[]; isEmpty: boolean; notCovered: string[] } {
  const results = utterances.flatMap((utterance) => sentimentsIn(utterance, felt));
  const gaps = notCovered('sentiment', languagesOf(utterances), felt !== undefined);
  const isLate = felt !== undefined && utterances.some(({ text, language }) => isAbroad(language) && splitSentences(text).some(({ start, end }) => !felt.has(text.slice(start, end)))); // prettier-ignore
  return { ...listed(results), notCovered: isLate ? [...gaps, lateModel] : gaps };
}

function sentimentsIn(utterance: Utterance, felt: FeltSentences | undefined): SentimentItem[] {
  const at = timelineOf(utterance);
  const { channel, speaker } = utterance;
  return splitSentences(utterance.text).map((span) => {
    const text = utterance.text.slice(span.start, span.end);
    // The lexicon is English. In other languages a model hears the label, or it is `unknown` instead of a guess.
    const { label, emotion } =
      utterance.language === 'en'
        ? scoreSentiment(text)
        : { ...unknownSentiment, label: felt?.get(text) ?? unknownSentiment.label };
    const time = at(span.start, span.end);
    return {
      text,
      sentiment: label,
      emotion,
      ...time,
      channel,
      speaker,
    };
  });
}

/** Does the task in the calling thread. The runner calls this in a worker thread. */
export function performTask<K extends TaskName>(
  task: K,
  input: LanguageTasks[K]['input'],
): LanguageTasks[K]['output'] {
  return perform[task](input);
}

/** The finders look at the words that were said. What a person reads may have lost the word that tells a code's kind. */
function asSpoken<Turn extends SpokenTurn>(turn: Turn): Turn {
  return { ...turn, text: turn.spoken ?? turn.text };
}

/**
 * Builds the summary of a finished call. In languages other than English the course of sentiment is left out: the
 * lexicon is English, and a guess would look like a measurement.
 */
function insightOf(
  turns: readonly TimedTurn[],
  summaryType: SummarizationType,
  language = 'en',
  about?: ValueContext,
): CallInsight {
  const entities = about
    ? entitiesOfTurns(turns.map(asSpoken), about, language)
    : turns.map(asSpoken).flatMap((turn) => {
        const at = timelineOf({
          ...turn,
          words: turn.words ?? [],
          confidence: 1,
          channel: 0,
          language: 'en',
        });
        return findEntities(turn.text, undefined, language).map((span) => ({
          entity_type: span.type,
          text: span.text,
          ...at(span.start, span.end),
          role: turn.role,
        }));
      });
  const named = withSpelledNames(turns, entities);
  const record = recordOf(named, { entities, ...about, language });
  return {
    summary: toldFrom(record, named, summaryType),
    summary_kind: 'extractive',
    chapters: severalOf(chaptersOf(turns, undefined, language)),
    wrap_up: wrapUpFrom(record, named),
    entities,
    sentiment: language === 'en' ? courseOf(turns) : [],
  };
}
