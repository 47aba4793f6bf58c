import { answerTo } from '../../../src/bridge/call/expectations.ts';
import type { Recogniser, RecogniserStream } from '../../../src/hearing/recogniser.ts';
import { entitiesOverFinals } from '../../../src/language/values/over-finals.ts';
import type { CrmRequest } from '../../support/crm/crm.ts';
import { telephonePrompts } from '../../support/recognition/prompts.ts';
import { inQuiet } from '../recognition/audio.ts';
import { inParallel, quantile } from '../recognition/figures.ts';
import { hear, pushAll } from '../../support/recognition/recogniser.ts';
import { digitsIn } from '../../support/language/digits-in.ts';
import type { HeardCall } from './scores.ts';
import type { SpokenNumber } from './utterances.ts';

/**
 * Hears an answer with the recogniser alone, as fast as it reads, with the wishes of a bridge's session. The question is
 * known in full before the answer begins. The events are those that the bridge would tell, as far as `judge` needs them.
 */
export async function heardAlone(
  recogniser: Recogniser,
  said: SpokenNumber,
  about: { audio: Int16Array; endS: number; atPace: boolean },
): Promise<HeardCall> {
  const asked = said.agent === undefined ? [] : [said.agent];
  const heard = hear(recogniser, {
    endpointingS: 0.3,
    maximumDurationS: 15,
    numberPauseS: 1.5,
    partials: about.atPace,
    expects: answerTo(asked),
  });
  if (about.atPace) await pushAsSpoken(heard.stream, about.audio);
  else pushAll(heard.stream, about.audio);
  await heard.end();
  const { finals } = heard;
  const entities = entitiesOverFinals({
    finals: finals.map(({ text }) => text),
    asked,
    about: { day: '2026-03-04', callingCode: '1' },
    language: 'en',
  });
  const leg = { role: 'customer' };
  const events = [
    ...finals.map(({ words }) => ({ type: 'call.transcript', leg, data: { words } })),
    {
      type: 'call.entities',
      leg,
      data: { results: entities.map((one, id) => ({ ...one, id: String(id) })) },
    },
  ];
  return {
    said,
    requests: events.map((event) => ({
      event,
      body: Buffer.from(JSON.stringify(event)),
    })) as unknown as CrmRequest[],
    lateMs: Math.round((Math.max(0, ...finals.map(({ end }) => end)) - about.endS) * 1_000),
  };
}

/** 20 ms at a time, as a carrier sends it. */
export async function pushAsSpoken(stream: RecogniserStream, audio: Int16Array): Promise<void> {
  const beganMs = performance.now();
  for (let at = 0; at < audio.length; at += 160) {
    stream.push(audio.subarray(at, at + 160));
    const aheadMs = (at + 160) / 8 - (performance.now() - beganMs);
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
}

/** Ordinals, plurals of numbers and years of age are numbers, too. */
const numbers =
  /\d|ty\b|teen|ties\b|(?:ieth|eenth|fth|xth|nth|ghth|urth|lfth)s?\b|first|second|third|hundred|thousand|million|zero|(?:one|two|three|four|five|six|seven|eight|nine|ten)s?\b/i;

/**
 * The time from the end of the speech to its final, at the pace of speech, of prompts without a number: with the wait for
 * unfinished numbers and an expectation, and without both. The two ways take turns, so that both have the same load.
 */
export async function lateness(recogniser: Recogniser, limit: number): Promise<string> {
  const prompts = withoutNumbers().slice(0, limit);
  const lateMs: Record<'without' | 'with', number[]> = { without: [], with: [] };
  await inParallel(prompts, atOnce, async ({ samples }, index) => {
    const ways = ['without', 'with'] as const;
    for (const way of index % 2 === 0 ? ways : ways.toReversed()) {
      const heard = hear(recogniser, {
        maximumDurationS: 15,
        ...(way === 'with' ? { numberPauseS: 1.5, expects: 'digits' } : {}),
      });
      const beganMs = performance.now();
      const first = heard
        .until(({ type }) => type === 'final')
        .then(() => performance.now() - beganMs - (heard.finals[0]?.end ?? 0) * 1_000);
      await pushAsSpoken(heard.stream, inQuiet(samples, 0.4, 3));
      await heard.end();
      if (heard.finals.length > 0) lateMs[way].push(await first);
    }
  });
  return (['without', 'with'] as const)
    .map((way) => {
      const { length } = lateMs[way];
      return `${way}: ${String(length)} finals, p50 ${quantile(lateMs[way], 0.5).toFixed(0)} ms, p95 ${quantile(lateMs[way], 0.95).toFixed(0)} ms`;
    })
    .join('\n');
}

const atOnce = 4;

function withoutNumbers() {
  return telephonePrompts(1).filter(({ text }) => digitsIn(text) === '' && !numbers.test(text));
}

/**
 * The cost of an expectation where something else is said: of telephone prompts without a number, those in which a digit
 * is heard, and those of which any word changes.
 */
export async function otherAnswers(recogniser: Recogniser, limit: number): Promise<string> {
  const prompts = withoutNumbers().slice(0, limit);
  const textOf = async (samples: Int16Array, expects: 'digits' | undefined) => {
    const heard = hear(recogniser, {
      maximumDurationS: 15,
      numberPauseS: 1.5,
      partials: false,
      expects,
    });
    pushAll(heard.stream, inQuiet(samples));
    await heard.end();
    return heard.text();
  };
  const heard = await inParallel(prompts, 2, async ({ samples }) => ({
    plain: await textOf(samples, undefined),
    expected: await textOf(samples, 'digits'),
  }));
  const digits = (which: 'plain' | 'expected') =>
    heard.filter((one) => digitsIn(one[which]) !== '').length;
  const changed = heard.filter(({ plain, expected }) => plain !== expected);
  return (
    `of ${String(prompts.length)} prompts without a number, a digit is heard in ${String(digits('plain'))}, ` +
    `and where digits are expected in ${String(digits('expected'))}; ${String(changed.length)} change: ` +
    changed.map(({ plain, expected }) => `${plain} > ${expected}`).join(' | ')
  );
}
