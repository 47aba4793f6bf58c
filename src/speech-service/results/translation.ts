import { alignWords } from '../../language/rewrite/rewrite-words.ts';
import type { TranslationConfig } from '../../protocol/addon-configs.ts';
import type { AddonError, Utterance } from '../../protocol/addons.ts';
import type { TargetTranslation } from './blocks.ts';
import type { LanguageWork } from './language-work.ts';

/** The model sees this many lines before those that it translates. */
const linesBefore = 6;
/** Utterances with a longer pause between them are not joined. */
const longestPauseS = 1;
const longestJoinedCharacters = 400;

/**
 * Translates one target at a time, batch by batch: the model's budget is used slowly, and an error affects only its
 * batch.
 */
export async function translated(
  work: LanguageWork,
  config: TranslationConfig,
  said: readonly Utterance[],
): Promise<{ outcomes: TargetTranslation[]; execS: number }> {
  const utterances = config.match_original_utterances ? said : joined(said);
  const outcomes: TargetTranslation[] = [];
  let execS = 0;
  for (const target of [...new Set(config.target_languages)]) {
    const indexed = utterances.map((utterance, index) => ({ utterance, index }));
    let refusal: AddonError | null = null;
    const parts = await work.inParts(
      indexed,
      ({ utterance }) => utterance.text.length,
      (part) => {
        if (refusal) return Promise.resolve({ ...nothing, error: refusal });
        const from = part[0]?.index ?? 0;
        const before = utterances.slice(Math.max(0, from - linesBefore), from);
        return work
          .patientBlock('translateAll', {
            utterances: part.map(({ utterance }) => utterance),
            target,
            config,
            before: before.map(({ text }) => text),
          })
          .then((block) => {
            // Without a model every further batch would get the same answer.
            if (block.error?.exception === 'NotConfigured') refusal = block.error;
            return block;
          });
      },
    );
    execS += parts.reduce((sum, { block }) => sum + block.exec_time, 0);
    outcomes.push({
      target,
      utterances: parts.flatMap(({ part, block }) =>
        part.flatMap(({ utterance }, i) => {
          const text = block.results?.[i];
          return text === undefined ? [] : [inOtherWords(utterance, target, text)];
        }),
      ),
      error: parts.find(({ block }) => block.error !== null)?.block.error ?? null,
    });
  }
  return { outcomes, execS };
}

const nothing = { success: false, is_empty: true, exec_time: 0, results: null };

/**
 * Builds the words of a translation. They have no times of their own and share the time of the utterance by their
 * length.
 */
function inOtherWords(utterance: Utterance, target: string, text: string): Utterance {
  const whole = {
    word: '',
    start: utterance.start,
    end: utterance.end,
    confidence: utterance.confidence,
  };
  return { ...utterance, language: target, text, words: alignWords([whole], text) };
}

/** Joins utterances with short pauses, if the translation need not follow the original line by line. */
export function joined(utterances: readonly Utterance[]): Utterance[] {
  const result: Utterance[] = [];
  for (const utterance of utterances) {
    const last = result.at(-1);
    if (last && isOneBreath(last, utterance)) {
      const [first, ...rest] = utterance.words;
      result[result.length - 1] = {
        ...last,
        end: Math.max(last.end, utterance.end),
        text: `${last.text.trim()} ${utterance.text.trim()}`,
        words: [
          ...last.words,
          ...(first ? [{ ...first, word: ` ${first.word.trim()}` }] : []),
          ...rest,
        ],
      };
    } else result.push(utterance);
  }
  return result;
}

function isOneBreath(last: Utterance, next: Utterance): boolean {
  return (
    last.channel === next.channel &&
    last.speaker === next.speaker &&
    last.language === next.language &&
    next.start - last.end <= longestPauseS &&
    last.text.length + next.text.length <= longestJoinedCharacters
  );
}
