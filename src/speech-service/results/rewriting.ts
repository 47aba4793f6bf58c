import type { Utterance } from '../../protocol/addons.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import type { LanguageWork } from './language-work.ts';

/** Punctuation, vocabulary and spelling. A part without an answer keeps the words that were recognised. */
export async function rewritten(
  work: LanguageWork,
  request: PreRecordedRequest,
  utterances: Utterance[],
): Promise<Utterance[]> {
  const { custom_vocabulary, custom_spelling, punctuation_enhanced } = request;
  if (!custom_vocabulary && !custom_spelling && !punctuation_enhanced) return utterances;
  const realtime = {
    custom_vocabulary,
    custom_vocabulary_config: request.custom_vocabulary_config,
    custom_spelling,
    custom_spelling_config: request.custom_spelling_config,
    punctuation_enhanced,
  };
  const parts = await work.inParts(
    utterances,
    ({ text }) => text.length,
    (part) => work.block('rewriteAll', { utterances: part, realtime }),
  );
  return parts.flatMap(({ part, block }) => block.results ?? part);
}
