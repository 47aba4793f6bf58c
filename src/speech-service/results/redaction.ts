import type {
  TranscriptPiece,
  TranscriptRedactionState,
} from '../../language/redaction/redact-all.ts';
import type { CoveredSpan, RedactedPiece } from '../../language/redaction/redact.ts';
import { redactionProblem } from '../../language/redaction/redaction-names.ts';
import { alignWords } from '../../language/rewrite/rewrite-words.ts';
import type { AddonError, Utterance, Word } from '../../protocol/addons.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import type { LanguageWork } from './language-work.ts';

/** Replaces a text that the redaction has not checked: such a text is never sent. */
const unseen = '[REDACTED]';

export type RedactedUtterances = {
  /** Utterances with the markers in them: their types and characters in the redacted text. */
  utterances: (Utterance & { covered: CoveredSpan[] })[];
  /** The reason why some texts could not be checked. */
  error: AddonError | null;
};

/**
 * The reason why a valid request cannot be done here, sent to the client with 422; undefined if it can. A type that no
 * finder finds would leave every text as it is while the job is reported as redacted.
 */
export function whyNotDoable(request: PreRecordedRequest): string | undefined {
  if (!request.pii_redaction) return undefined;
  for (const [i, name] of (request.pii_redaction_config?.entity_types ?? []).entries()) {
    const problem = redactionProblem(name);
    if (problem !== undefined) return `pii_redaction_config.entity_types.${i} ${problem}`;
  }
  return undefined;
}

/**
 * Removes personal data from every utterance, in order of time, with one numbering for the whole transcript. Everything
 * else in a result is made from the redacted texts, so nothing else can show what was removed.
 */
export async function redacted(
  work: LanguageWork,
  request: PreRecordedRequest,
  utterances: readonly Utterance[],
): Promise<RedactedUtterances> {
  if (!request.pii_redaction)
    return { utterances: utterances.map((said) => ({ ...said, covered: [] })), error: null };
  const { entity_types = [], processed_text_type = 'MARKER' } = request.pii_redaction_config ?? {};
  const common = { entityTypes: entity_types, form: processed_text_type };
  const seen = new Map<number, RedactedPiece>();
  let state: TranscriptRedactionState | undefined;
  const step = async (pieces: TranscriptPiece[], isLast: boolean) => {
    const block = await work.block('redactAll', {
      ...common,
      pieces,
      isLast,
      ...(state ? { state } : {}),
    });
    if (block.results !== null) {
      state = block.results.state;
      for (const piece of block.results.pieces) seen.set(piece.index, piece);
    }
    return block;
  };
  const pieces = utterances.map((said, index) => ({
    voice: `${said.channel} ${said.speaker ?? ''}`,
    index,
    text: said.text,
    words: agreeingWords(said),
    language: said.language,
  }));
  const lengthOf = ({ text }: { text: string }): number => text.length;
  const first = await work.inParts(pieces, lengthOf, (part) => step(part, false));
  // Text that still waits for the rest of a number is released at the end.
  const last = await step([], true);
  const numbers = state?.numbers ?? {};
  const second = await work.inParts([...seen.values()], lengthOf, (part) =>
    work.block('redactKnown', { pieces: part, numbers, form: processed_text_type }),
  );
  const whole = new Map(
    second.flatMap(({ block }) => block.results ?? []).map((piece) => [piece.index, piece]),
  );
  const blocks = [...first.map(({ block }) => block), last, ...second.map(({ block }) => block)];
  return {
    utterances: utterances.map((said, index) => {
      const piece = whole.get(index);
      if (!piece) return { ...said, text: unseen, words: [], covered: [] };
      const { text, words, covered } = piece;
      return { ...said, text, words, covered };
    }),
    error: blocks.find((block) => block.error !== null)?.error ?? null,
  };
}

/**
 * Keeps words only if they agree with the text. The redaction checks the text alone, so other words would be sent
 * unchecked.
 */
function agreeingWords({ text, words }: Utterance): Word[] {
  const plain = (said: string): string => said.replace(/\s+/g, ' ').trim();
  const spoken = words.map(({ word }) => word).join(' ');
  return plain(spoken) === plain(text) ? words : alignWords(words, text);
}
