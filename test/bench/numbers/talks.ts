import { answerTo } from '../../../src/bridge/call/expectations.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { wordsOfQuestions } from '../../../src/language/redaction/redaction-names.ts';
import { redactStep, type RedactionState } from '../../../src/language/redaction/redact.ts';
import { hear, pushAll } from '../../support/recognition/recogniser.ts';
import { inQuiet } from '../recognition/audio.ts';
import { inParallel } from '../recognition/figures.ts';
import { cardTalks, talkers, type CardTalk } from './card-talks.ts';
import { digitsIn } from '../../support/language/digits-in.ts';

const entityTypes = ['PCI', 'SSN'];

/**
 * Hears the third set with the recogniser alone, question, answer and what is read back, and redacts it as a call does.
 * An exchange counts as soon as one digit or month of it is left: in the answer, or in what the agent reads back.
 */
export async function heardTalks(recogniser: Recogniser, shows: boolean): Promise<string> {
  const judged = await inParallel(cardTalks(), 2, async (talk, index) => {
    const { agent, customer } = talkers(index);
    const question = await finalsOf(recogniser, agent(talk.question), []);
    const answer = await finalsOf(recogniser, customer(talk.answer), question);
    const back = talk.readBack && (await finalsOf(recogniser, agent(talk.readBack), answer));
    const redacted = redactedTalk(question, answer, back ? back : []);
    return { talk, heard: [question, answer, back ? back : []], ...redacted };
  });
  const rows = judged.map(({ talk, heard, answer, back }) => {
    const isNeutral = talk.kind === 'neutral';
    const isBad = isNeutral ? answer.includes('[') : numbersLeft(answer) || numbersLeft(back);
    if (shows && isBad)
      console.log(`${talk.kind} ${JSON.stringify([talk, heard])}\n      ${answer} | ${back}`);
    return { kind: talk.kind, answer: numbersLeft(answer), back: numbersLeft(back), isBad };
  });
  return (['expiry', 'cvv', 'neutral'] as const satisfies CardTalk['kind'][])
    .map((kind) => {
      const of = rows.filter((row) => row.kind === kind);
      if (kind === 'neutral')
        return `neutral: masked ${of.filter(({ isBad }) => isBad).length} of ${of.length}`;
      const left = of.filter(({ answer }) => answer).length;
      return `${kind}: something left in ${left} of ${of.length} answers, in ${of.filter(({ back }) => back).length} of what is read back`;
    })
    .join('\n');
}

async function finalsOf(
  recogniser: Recogniser,
  samples: Int16Array,
  asked: readonly string[],
): Promise<string[]> {
  const heard = hear(recogniser, {
    endpointingS: 0.3,
    maximumDurationS: 15,
    numberPauseS: 1.5,
    partials: false,
    expects: answerTo(asked),
    vocabulary: { vocabulary: wordsOfQuestions(entityTypes) },
  });
  pushAll(heard.stream, inQuiet(samples, 0.4, 2));
  await heard.end();
  return heard.finals.map(({ text }) => text);
}

function redactedTalk(question: string[], answer: string[], back: string[]) {
  let numbers: RedactionState['numbers'] = {};
  const states = new Map<string, Omit<RedactionState, 'numbers'>>();
  const said = (who: string, texts: readonly string[], asked: readonly string[]): string => {
    const released = [...texts, undefined].flatMap((text) => {
      const step = redactStep({
        ...(text === undefined ? { text: '', flush: true } : { text, mayHold: true }),
        entityTypes,
        form: 'MARKER',
        asked,
        state: { ...states.get(who), numbers },
      });
      const { numbers: used, ...state } = step.state;
      numbers = used;
      states.set(who, state);
      return step.released;
    });
    return released.map(({ text }) => text).join(' ');
  };
  said('agent', question, []);
  const shown = said('customer', answer, question.slice(-4));
  return { answer: shown, back: said('agent', back, answer.slice(-4)) };
}

/** Words of the exchanges that look like numbers. */
const noNumbers = /\[[A-Z_]+_\d+\]|\b(?:one (?:second|moment)|second|that one)\b/gi;

function numbersLeft(text: string): boolean {
  return digitsIn(text.replace(noNumbers, '')) !== '';
}
