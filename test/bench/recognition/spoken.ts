import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { telephonePrompts, wavSamples } from '../../support/recognition/prompts.ts';

export type SpokenWord = { word: string; start: number; end: number };
export type Spoken = { text: string; samples: Int16Array; words: SpokenWord[] };

/** Telephone talk, invented; plain words so that truth and recognition spell them alike. */
export const sentences = [
  'I would like to speak with a representative about my order.',
  'The package was supposed to arrive on Monday but it never came.',
  'Can you please check the number and call me back tomorrow morning?',
  'My card was stolen last night and I need a new one.',
  'Thank you for calling, how may I help you today?',
  'I have been waiting for twenty minutes and nobody answered.',
  'Please send the invoice to my office address instead.',
  'We are very sorry about the delay, it should be there by Friday.',
  'Could you repeat the last part, I did not hear you.',
  'The internet connection has been slow since the storm.',
  'Yes, that is correct, the account belongs to my brother.',
  'No, I never got the refund that you promised me.',
  'Your appointment is confirmed for the third of April.',
  'I want to cancel my subscription before the end of the month.',
  'The technician will visit your house between nine and eleven.',
  'Is there anything else that I can do for you?',
  'The price on the website was lower than what I paid.',
  'Hold on, let me find the letter with the reference number.',
  'She told me that the manager would look into the problem.',
  'Everything works now, thanks a lot for your patience.',
];

/** Speech of flite, at 8 kHz. It times its sounds, not its words: a word is as many sounds as it has alone. */
export function speakWithFlite(texts: readonly string[], voice = 'rms'): Spoken[] {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-spoken-'));
  const counts = new Map<string, number>();
  const sounds = (text: string, file: string) =>
    execFileSync('flite', ['-voice', voice, '-psdur', '-t', text, '-o', file])
      .toString()
      .trim()
      .split(' ')
      .map((sound) => sound.split(':'))
      .map(([name, end]) => ({ name, end: Number(end) }))
      .map((sound, index, all) => ({ ...sound, start: all[index - 1]?.end ?? 0 }))
      .filter(({ name }) => name !== 'pau');
  try {
    return texts.flatMap((text, index) => {
      const wave = join(folder, `${String(index)}.wav`);
      const at8k = join(folder, `${String(index)}-8k.wav`);
      const heard = sounds(text, wave);
      let next = 0;
      const words = text.split(' ').map((written) => {
        const word = written.toLowerCase().replace(/[^a-z']/g, '');
        if (!counts.has(word)) counts.set(word, sounds(word, 'none').length);
        const first = heard[next];
        next += counts.get(word) ?? 0;
        return { word, start: first?.start ?? 0, end: heard[next - 1]?.end ?? 0 };
      });
      if (next !== heard.length) return []; // a word sounds different in its sentence: no truth
      execFileSync('sox', ['-v', '0.9', wave, '-r', '8000', '-b', '16', '-c', '1', at8k], {
        stdio: 'pipe',
      });
      return { text, words, samples: wavSamples(readFileSync(at8k)) };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Speech of festival, at 8 kHz, with the word times of its own synthesis. */
export function speak(texts: readonly string[], voice = 'cmu_us_slt_arctic_hts'): Spoken[] {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-spoken-'));
  try {
    const script = texts.map((text, index) => {
      const wave = join(folder, `${String(index)}.wav`);
      return `(set! utt (Utterance Text ${JSON.stringify(text)}))
        (utt.synth utt) (utt.save.wave utt ${JSON.stringify(wave)} 'riff)
        (mapcar (lambda (w) (format t "${String(index)} %s %f %f\\n" (item.name w)
          (item.feat w "word_start") (item.feat w "word_end"))) (utt.relation.items utt 'Word))`;
    });
    writeFileSync(join(folder, 'say.scm'), [`(voice_${voice})`, ...script].join('\n'));
    const said = execFileSync('festival', ['-b', join(folder, 'say.scm')]).toString();
    return texts.map((text, index) => {
      const wave = join(folder, `${String(index)}.wav`);
      const at8k = join(folder, `${String(index)}-8k.wav`);
      execFileSync('sox', ['-v', '0.9', wave, '-r', '8000', '-b', '16', '-c', '1', at8k], {
        stdio: 'pipe',
      });
      const words = said
        .split('\n')
        .map((line) => line.split(' '))
        .filter(([number]) => number === String(index))
        .map(([, word = '', start, end]) => ({ word, start: Number(start), end: Number(end) }));
      return { text, words, samples: wavSamples(readFileSync(at8k)) };
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Festival's diphone voices that are installed (festvox-kallpc16k, festvox-kdlpc16k). */
export function furtherVoices(): string[] {
  return ['kal_diphone', 'ked_diphone'].filter((voice) =>
    existsSync(`/usr/share/festival/voices/english/${voice}`),
  );
}

/** Prompts with the times that another program found, a line of JSON each: `{"name", "words": [[word, start, end]]}`. */
export function alignedPrompts(file: string): Spoken[] {
  const prompts = new Map(telephonePrompts().map((prompt) => [prompt.name, prompt]));
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.flatMap((line) => {
    const about = JSON.parse(line) as { name: string; words: [string, number, number][] };
    const prompt = prompts.get(about.name);
    if (!prompt) return [];
    return [{ ...prompt, words: about.words.map(([word, start, end]) => ({ word, start, end })) }];
  });
}
