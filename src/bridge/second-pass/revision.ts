import { mainLanguageOf } from '../../language/main-language.ts';
import type { LanguageRunner } from '../../language/runner.ts';
import type { LanguageTasks } from '../../language/tasks.ts';
import type { ValueContext } from '../../language/types.ts';
import type { CallEventData, Role, Turn } from '../../protocol/events.ts';
import type { Spoken } from '../../speech-client/jobs-api.ts';
import type { BridgeConfig } from '../config.ts';
import { personName } from '../../protocol/people.ts';
import { noSummary, summaryOf, type CallConversation } from '../call/summary.ts';

/** The redaction settings at the end of a call. Later settings apply to later calls. */
export type PassRedaction = { types: string[]; form: BridgeConfig['redactForm'] };

type RevisionOptions = {
  language: LanguageRunner;
  callId: string;
  /** The roles of the left and the right channel of the recording. */
  channelRoles: readonly [Role, Role];
  redaction: PassRedaction;
  summaryType: BridgeConfig['summaryType'];
  /** The facts about the call that its amounts, days and telephone numbers depend on. */
  about: ValueContext | undefined;
  deadlineMs: number;
};

export type Revision = {
  data: CallEventData<'call.transcript.revised'>;
  /** The words of turns as they were said, where the turn has them in figures. */
  spoken: ReadonlyMap<Turn, string>;
};

/** Replaces a text that was not checked. Text that nobody has checked must not be sent out. */
const unseen = '[REDACTED]';
/** Number of turns per request to the language thread. */
const partTurns = 50;

/**
 * The data of `call.transcript.revised`. Like those of `call.summary`, its summary, chapters and entities are made
 * here from turns that are already redacted, so that no redacted word can be in them.
 */
export async function revisionOf(
  spoken: readonly Spoken[],
  options: RevisionOptions,
): Promise<Revision> {
  const code = mainLanguageOf(spoken);
  const said = await redacted(turnsOf(spoken, options.channelRoles), options);
  const { turns, spoken: changed } = await written(said, code, options);
  const { transcript, summary, chapters, entities, errors } = await summarised(
    { turns, spoken: changed, sentiment: [] },
    code,
    options,
  );
  return { data: { transcript, summary, chapters, entities, errors }, spoken: changed };
}

/** The turns as a person reads them. A batch without an answer stays as it was said. */
async function written(
  turns: readonly Turn[],
  code: string,
  { language, callId, about, deadlineMs }: RevisionOptions,
): Promise<{ turns: Turn[]; spoken: Map<Turn, string> }> {
  const spoken = new Map<Turn, string>();
  const all: Turn[] = [];
  for (let at = 0; at < turns.length; at += partTurns) {
    const part = turns.slice(at, at + partTurns);
    const { results } = await language.run(
      'writtenAll',
      {
        texts: part.map(({ text }) => text),
        context: { language: code, callingCode: about?.callingCode },
      },
      { owner: callId, deadlineMs },
    );
    for (const [index, turn] of part.entries()) {
      const text = results?.[index] ?? turn.text;
      const shown = text === turn.text ? turn : { ...turn, text };
      if (shown !== turn) spoken.set(shown, turn.text);
      all.push(shown);
    }
  }
  return { turns: all, spoken };
}

/** Only for a mixed channel, `speaker` says which of the parties spoke. */
function turnsOf(spoken: readonly Spoken[], [left, right]: readonly [Role, Role]): Turn[] {
  return spoken
    .map(({ channel, speaker, text, start, end }): Turn => {
      const role = channel === 0 ? left : right;
      const who = role === 'mixed' && speaker !== undefined ? { role, speaker } : { role };
      return { ...who, text: text.trim(), start, end };
    })
    .filter(({ text }) => text !== '')
    .toSorted((a, b) => a.start - b.start || a.end - b.end);
}

async function redacted(
  turns: readonly Turn[],
  { language, callId, redaction: { types: entityTypes, form }, deadlineMs }: RevisionOptions,
): Promise<Turn[]> {
  if (entityTypes.length === 0) return [...turns];
  const run = { owner: callId, deadlineMs };
  const texts = new Map<number, string>();
  const pieces = turns.map((turn, index) => ({
    voice: personName(turn),
    index,
    text: turn.text,
    words: [],
  }));
  const seen: NonNullable<LanguageTasks['redactAll']['output']['results']>['pieces'] = [];
  let state: NonNullable<LanguageTasks['redactAll']['output']['results']>['state'] | undefined;
  for (let at = 0; at < pieces.length; at += partTurns) {
    const { results } = await language.run(
      'redactAll',
      {
        pieces: pieces.slice(at, at + partTurns),
        entityTypes,
        form,
        isLast: at + partTurns >= pieces.length,
        state,
      },
      run,
    );
    if (results === null) continue;
    state = results.state;
    seen.push(...results.pieces);
  }
  // Turns are redacted only after all are read: a name that one sentence reveals is then removed from the others too.
  for (let at = 0; at < seen.length; at += partTurns) {
    const { results } = await language.run(
      'redactKnown',
      { pieces: seen.slice(at, at + partTurns), numbers: state?.numbers ?? {}, form },
      run,
    );
    for (const { index, text } of results ?? []) texts.set(index, text);
  }
  return turns.map((turn, index) => ({ ...turn, text: texts.get(index) ?? unseen }));
}

async function summarised(
  conversation: CallConversation,
  languageCode: string,
  { language, callId, summaryType: type, about, deadlineMs }: RevisionOptions,
) {
  try {
    return await summaryOf(conversation, {
      language,
      callId,
      type,
      languageCode,
      deadlineMs,
      about,
    });
  } catch {
    return noSummary(conversation.turns, type, 'the summary could not be made'); // the words are useful without a summary
  }
}
