import { RecogniserConfig } from '../../src/hearing/config.ts';
import { startRecogniser } from '../../src/hearing/pool/pool.ts';
import type { Recogniser } from '../../src/hearing/recogniser.ts';
import { doubtfulOf } from '../../src/language/text/doubt.ts';
import type { SpokenTurn } from '../../src/language/types.ts';
import { sayWithFlite } from '../support/recognition/dialogue.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { hear, pushAll, silentLog } from '../support/recognition/recogniser.ts';
import { Counts } from '../support/language/language-scores.ts';
import {
  callsAbroad,
  languageOfCall,
  languagesOfCalls,
  scoreWrapUps,
  wrapUpCalls,
  type WrapUpCall,
  type WrapUpPart,
} from '../support/language/wrap-up-calls.ts';
import { inQuiet } from './recognition/audio.ts';

/**
 * Records of calls that were spoken through 8 kHz, so with the errors of the recogniser: ten calls whose rules were
 * written with them in sight, and ten of a later hand. Each turn is said by one of two voices and heard by itself.
 *
 * Calls in other languages are not spoken: eight in each of six, of which three were in sight.
 *
 *   WRAP_UPS_SHOW=seen     prints what was heard, and what the record lacks
 *   WRAP_UPS_ONLY=abroad   the other languages alone
 */
const sets: Record<'seen' | 'unseen', WrapUpPart> = { seen: 'second', unseen: 'fifth' };
const fields = ['reason', 'done', 'outcome', 'promises', 'facts'] as const;
const callsEach = 10;

export async function run(): Promise<void> {
  for (const half of ['seen', 'unseen', 'later'] as const) {
    const calls = callsAbroad(half);
    for (const language of languagesOfCalls)
      print(`${language}, ${half}`, calls.filter((call) => languageOfCall(call) === language), process.env['WRAP_UPS_SHOW'] === half); // prettier-ignore
    print(`other languages, ${half}`, calls, false);
  }
  if (process.env['WRAP_UPS_ONLY'] === 'abroad') return;
  const model = await realModel();
  if (!model) throw new Error('npx trunkline models pull moonshine-tiny-en');
  const config = RecogniserConfig.parse({ ...model, processes: 1 });
  await using recogniser = await startRecogniser({ config, log: silentLog, inBackground: false });
  for (const [name, part] of Object.entries(sets)) {
    const written = wrapUpCalls(part).slice(0, callsEach);
    const spoken: WrapUpCall[] = [];
    for (const call of written) spoken.push(await asHeard(recogniser, call));
    if (process.env['WRAP_UPS_SHOW'] === name)
      for (const { id, turns } of spoken)
        console.log(`${id}\n${turns.map(({ role, text }) => `  ${role}: ${text}`).join('\n')}`);
    for (const [how, calls] of [
      ['written', written],
      ['spoken', spoken],
    ] as const)
      print(`${name}, ${how}`, calls, process.env['WRAP_UPS_SHOW'] === name && how === 'spoken');
  }
}

async function asHeard(recogniser: Recogniser, call: WrapUpCall): Promise<WrapUpCall> {
  const turns: SpokenTurn[] = [];
  for (const turn of call.turns) {
    const heard = hear(recogniser, { maximumDurationS: 30, partials: false });
    pushAll(heard.stream, inQuiet(sayWithFlite(turn.role === 'agent' ? 'slt' : 'rms', turn.text)));
    await heard.end();
    const text = heard.finals.map((final) => final.text.trim()).join(' ');
    if (text === '') continue;
    const words = heard.finals.flatMap((final) => final.words);
    turns.push({ ...turn, text, doubtful: doubtfulOf(words), words: words.map((word) => ({ ...word, start: turn.start + word.start, end: turn.start + word.end })) } as SpokenTurn); // prettier-ignore
  }
  return { ...call, turns };
}

function print(name: string, calls: readonly WrapUpCall[], isShown: boolean): void {
  const score = scoreWrapUps(calls);
  const pooled = new Counts();
  for (const field of fields) {
    pooled.hits += score[field].hits;
    pooled.extra += score[field].extra;
    pooled.missed += score[field].missed;
  }
  console.log(
    `${name}, ${calls.length} calls: F1 ${pooled.f1.toFixed(3)} (${fields.map((field) => `${field} ${score[field].f1.toFixed(3)}`).join(', ')}); without a source ${score.withoutSource.length}, wrong names ${score.wrongNames.length} ${score.wrongNames.join(', ')}`,
  );
  if (isShown) console.log(score.lines.join('\n'));
}
