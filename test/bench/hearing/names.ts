import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { sayWithFlite } from '../../support/recognition/dialogue.ts';
import { telephonePrompts } from '../../support/recognition/prompts.ts';
import { hear, pushAll } from '../../support/recognition/recogniser.ts';
import { normalisedWords } from '../../support/recognition/word-errors.ts';
import { inQuiet } from '../recognition/audio.ts';

/**
 * Names that nothing was tuned to: of people, places, firms and things. Each is said in one of four sentences by one of
 * two voices, and the vocabulary has ten of them at a time.
 */
const names = (
  'Abernathy Ballantyne Carmichael Dunsworth Eckersley Fothergill Grimaldi Haverstock Ingersoll Jankowski ' +
  'Kowalczyk Lindholm Montague Nakamura Ollerton Pemberton Quillfeather Ravensworth Shackleton Templeton ' +
  'Underhill Valderrama Wetherby Yamamoto Zeller Aldridge Bannister Cavanaugh Delaney Ellsworth ' +
  'Fairbanks Gallagher Hathaway Isherwood Jorgensen Kettering Langford Merriweather Northcott Oakhurst ' +
  'Vantora Solvexa Brightmere Cloudnest Datarune Ferrolux Glowtech Hydrassa Inkwell Juniperly ' +
  'Kestrelix Lumatron Mediquest Novacore Optiweave Paxton Quantessa Rivermark Silvanet Tradewind ' +
  'Ullapool Vandermeer Wexford Yarborough Zanesville Ashgrove Birchwood Coldstream Dunmore Eastleigh ' +
  'Fenwick Glenrothes Holbrook Inverness Kilkenny Lancaster Melrose Nantucket Oswego Penrith'
).split(' ');

const sentences = [
  (name: string) => `I would like to speak to ${name} about the invoice.`,
  (name: string) => `The order was sent by ${name} last week.`,
  (name: string) => `Is this the office of ${name}?`,
  (name: string) => `My name is ${name} and I have a question.`,
];

/** Common surnames, to fill the list up to 100 entries: those that are most easily heard where nobody says them. */
const common = (
  'Smith Jones Brown Taylor Wilson Davies Evans Thomas Johnson Roberts Walker Wright White Green Hall ' +
  'King Baker Turner Hill Ward'
).split(' ');

const groupOf = 10;

async function heardWith(
  recogniser: Recogniser,
  samples: Int16Array,
  vocabulary: string[],
): Promise<string> {
  const heard = hear(recogniser, { recorded: true, partials: false, vocabulary: { vocabulary } });
  pushAll(heard.stream, inQuiet(samples));
  await heard.end();
  return heard.text();
}

const holds = (text: string, name: string) => normalisedWords(text).includes(name.toLowerCase());

/** Counts the spoken names that are written as they are in the vocabulary, and the names that are heard where nobody said them. */
export async function measureNames(recogniser: Recogniser): Promise<void> {
  const right = { without: 0, with: 0 };
  let others = 0;
  for (const [index, name] of names.entries()) {
    const sentence = sentences[index % sentences.length]!(name);
    const samples = sayWithFlite(index % 2 === 0 ? 'rms' : 'slt', sentence);
    const group = names.slice(index - (index % groupOf), index - (index % groupOf) + groupOf);
    if (holds(await heardWith(recogniser, samples, []), name)) right.without++;
    const heard = await heardWith(recogniser, samples, group);
    if (holds(heard, name)) right.with++;
    others += group.filter((other) => other !== name && holds(heard, other)).length;
  }
  console.log(
    `names right of ${String(names.length)}: ${String(right.with)} with a vocabulary of ${String(groupOf)}, ` +
      `${String(right.without)} without; another name of the vocabulary: ${String(others)}`,
  );
  let words = 0;
  const wrong: string[] = [];
  const list = [...names, ...common];
  const prompts = telephonePrompts().filter((_, index) => index % 3 === 0);
  for (const { text, samples } of prompts) {
    const truth = normalisedWords(text);
    words += truth.length;
    const heard = normalisedWords(await heardWith(recogniser, samples, list));
    wrong.push(...list.filter((name) => heard.includes(name.toLowerCase()) && !holds(text, name)));
  }
  console.log(
    `names of ${String(list.length)} entries heard in ${String(words)} words that hold none: ` +
      `${String(wrong.length)} ${wrong.join(', ')}`,
  );
}
