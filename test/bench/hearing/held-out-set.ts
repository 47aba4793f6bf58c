import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { wavSamples, type Prompt } from '../../support/recognition/prompts.ts';

/**
 * Speech that is kept apart for the last measure: voices and sentences that nothing was tuned to, and whose errors
 * nobody reads word by word. Whoever mends what is found here makes another set.
 */
const namesAndNumbers = [
  'This is Marguerite Halvorsen calling about the kitchen in Bridgeport.',
  'Mister Delacroix moved to twenty nine Willow Crescent in May.',
  'Could you spell the surname of Mrs. Achterberg for me?',
  'My extension is three eight one one, and the mobile ends in seven zero six.',
  'They took two hundred and seventy five pounds on the thirtieth of August.',
  'The case number is eight four four, two two, nine one.',
  'Rosalind and Ferdinand both signed on the twelfth.',
  'The flight to Baltimore leaves at ten to seven from gate eighteen.',
  'I have had this account since two thousand and eleven.',
  'Seventeen of the seventy tiles were broken.',
];
const shortAnswers = [
  'No.',
  'Yes, the first one.',
  'Neither of them.',
  'That would be great.',
  'Hold on a second.',
  'Of course.',
  'I think so.',
  'Not until Tuesday.',
];
const spelledWords = [
  'My name is spelled K L I N E.',
  'D as in dog, A as in apple, V, I, S.',
  'The code is R two D, nine F.',
  'That is M E Y E R, all in capitals.',
];
const talk = [
  'The engineer rang the bell twice and left before I could come down the stairs.',
  'When I try to pay, the page only says that something went wrong.',
  'You can bring it back to any of our shops as long as you have the receipt.',
  'My grandmother does not use a computer, so please send her a letter.',
  'There is water coming through the ceiling of the bathroom right now.',
  'We changed the lock last winter, and the old keys do not fit any more.',
  'I am afraid the person who looks after that is on holiday until next week.',
  'The sofa arrived in the wrong colour and one of its legs is missing.',
  'If nobody is at home the driver leaves a card with the number of the depot.',
  'Could we move the meeting to the afternoon, because my train is late?',
];

const sentences = Object.entries({
  'names and numbers': namesAndNumbers,
  'short answers': shortAnswers,
  'spelled words': spelledWords,
  talk,
}).flatMap(([kind, texts]) => texts.map((text, index) => ({ kind, text, index })));

/** Says each text into a file of its own: 16 kHz, 16 bit, mono, without a header. */
const pico = `
import json, sys
from py_nanotts import NanoTTS
voice = NanoTTS()
for job in json.load(sys.stdin):
    open(job["file"], "wb").write(voice.speak(job["text"], voice=job["voice"]))
`;

/** Two voices of SVOX Pico. HEARING_PYTHON names a Python that has the package `py-nanotts`. */
export function picoPrompts(): Prompt[] {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-pico-'));
  try {
    const jobs = ['en-US', 'en-GB'].flatMap((voice) =>
      sentences.map(({ kind, text, index }) => {
        const name = `${kind}: ${voice} ${String(index)}`;
        return { name, text, voice, file: join(folder, name.replaceAll(' ', '-')) };
      }),
    );
    const python = process.env['HEARING_PYTHON'] ?? 'python3';
    execFileSync(python, ['-c', pico], { input: JSON.stringify(jobs), stdio: ['pipe', 2, 2] });
    return jobs.map(({ name, text, file }) => ({ name, text, samples: atTelephoneRate(file) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const recordings = '/usr/share/pocketsphinx/test/data';
const digits = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

/**
 * People who read aloud, of Debian's pocketsphinx-testdata (BSD licence): a book, cards, a command and digits, with the
 * words that the package gives for them.
 */
export function humanPrompts(): Prompt[] {
  if (!existsSync(recordings)) throw new Error('apt-get install pocketsphinx-testdata');
  const lines = ['librivox/transcription', 'cards/cards.transcription'].flatMap((file) =>
    readFileSync(join(recordings, file), 'utf8')
      .split('\n')
      .flatMap((line) => {
        const [, text, name] = /^<s> (.+?) +<\/s> \((.+)\)$/.exec(line) ?? [];
        if (text === undefined || name === undefined) return [];
        // One line holds a word that the reader takes back, and the text writes down twice.
        return [{ name, text, file: join(recordings, file, '..', `${name}.wav`) }];
      }),
  );
  const spoken = readdirSync(join(recordings, 'tidigits'))
    .filter((file) => file.endsWith('.raw'))
    .map((file) => {
      const said = Array.from(file.replace(/^.*\.(\w+)\.raw$/, '$1'));
      const text = said.map((one) => (one === 'z' ? 'zero' : (digits[Number(one)] ?? one)));
      return { name: file, text: text.join(' '), file: join(recordings, 'tidigits', file) };
    });
  const command = {
    name: 'goforward',
    text: 'go forward ten meters',
    file: join(recordings, 'goforward.raw'),
  };
  return [...lines, ...spoken, command].map(({ name, text, file }) => ({
    name: `human ${name}`,
    text,
    samples: atTelephoneRate(file),
  }));
}

const linear = ['-e', 'signed', '-b', '16', '-c', '1'];

function atTelephoneRate(file: string): Int16Array {
  const from = file.endsWith('.wav') ? [file] : ['-t', 'raw', '-r', '16000', ...linear, file];
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-rate-'));
  try {
    const telephone = join(folder, 'telephone.wav');
    execFileSync('sox', ['-v', '0.9', ...from, '-r', '8000', ...linear, telephone], {
      stdio: 'pipe',
    });
    return wavSamples(readFileSync(telephone));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
