import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { failed, succeeded } from '../../../../src/language/block.ts';
import { performTask } from '../../../../src/language/perform.ts';
import type { Utterance } from '../../../../src/protocol/addons.ts';
import { parsePreRecordedRequest } from '../../../../src/protocol/parse-pre-recorded.ts';
import { entityPresets } from '../../../../src/protocol/entity-types.ts';
import { whyNotDoable } from '../../../../src/speech-service/results/redaction.ts';
import {
  resultFor,
  runnerHere,
  spoken,
  type TaskAnswers,
} from '../../../support/speech/job-results.ts';

// The word lists are read once: no test pays for that with its time.
beforeAll(async () => {
  await resultFor({ pii_redaction: true, summarization: true, chapterization: true }, [
    spoken('Hello, my name is Laura.', 0),
  ]);
});

/** Every add-on that there is. */
const everything = {
  diarization: true,
  subtitles: true,
  subtitles_config: { formats: ['srt', 'vtt'] },
  sentences: true,
  translation: true,
  translation_config: { target_languages: ['fr', 'de'], match_original_utterances: false },
  summarization: true,
  named_entity_recognition: true,
  sentiment_analysis: true,
  chapterization: true,
  audio_to_llm: true,
  audio_to_llm_config: { prompts: ['Repeat the call.'] },
  moderation: true,
  name_consistency: true,
  structured_data_extraction: true,
  display_mode: true,
  punctuation_enhanced: true,
  custom_spelling: true,
  custom_spelling_config: { spelling_dictionary: { Trunkline: ['trunk line'] } },
  custom_vocabulary: true,
  custom_vocabulary_config: { vocabulary: ['Trunkline'] },
};

/** A model that repeats whatever it is shown. */
const echo: TaskAnswers = {
  translateAll: ({ utterances, before }) =>
    succeeded(
      utterances.map(({ text }) => [...before, text].join(' ')),
      performance.now(),
    ),
  audioToLlm: ({ transcript, prompts }) =>
    succeeded(
      prompts.map((prompt) => succeeded({ prompt, response: transcript }, performance.now())),
      performance.now(),
    ),
  structuredData: ({ transcript }) => succeeded(transcript, performance.now()),
};

const firstNames = ['Laura', 'Oriane', 'Marcus', 'Priya', 'Tobias', 'Ingrid', 'Kwame', 'Zofia'];
const lastNames = ['Bennett', 'Kowalczyk', 'Achterberg', 'Okafor', 'Lindqvist', 'Fairweather'];
const digits = (length: number) => fc.stringMatching(new RegExp(`^[1-9]\\d{${length - 1}}$`));

/** A card number whose last digit fits. */
const card = digits(14).map((body) => {
  const sum = Array.from(`4${body}`).reduce((total, digit, i) => {
    const value = Number(digit) * (i % 2 === 0 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return `4${body}${(10 - (sum % 10)) % 10}`;
});

/** A sentence, and the part of it that must not be in the result. */
type PlantedSecrets = { lines: string[]; secrets: string[] };
const secretTalk: fc.Arbitrary<PlantedSecrets> = fc.oneof(
  fc.tuple(fc.constantFrom(...firstNames), fc.constantFrom(...lastNames)).map(([first, last]) => ({
    // The surname alone comes first, where nothing tells that it is one.
    lines: [`it says ${last} on the parcel`, `Hello, my name is ${first} ${last}.`],
    secrets: [first, last],
  })),
  card.map((number) => {
    const [a, b, c, d] = number.match(/.{4}/g) ?? [];
    return {
      lines: [`my card number is ${a} ${b}`, `${c} ${d} thanks`],
      secrets: [`${a} ${b}`, `${c} ${d}`],
    };
  }),
  fc.tuple(fc.constantFrom(...lastNames), digits(3)).map(([last, number]) => {
    const address = `${last}${number}@example.org`;
    return { lines: [`write to ${address} please`, `was it ${address}?`], secrets: [address] };
  }),
  fc.tuple(digits(3), digits(4)).map(([middle, end]) => {
    const number = `(212) ${middle}-${end}`;
    return { lines: [`Please call me back at ${number}.`], secrets: [`${middle}-${end}`] };
  }),
  fc.tuple(digits(3), digits(2), digits(4)).map((parts) => {
    const number = parts.join('-');
    return { lines: [`my social security number is ${number}`], secrets: [number] };
  }),
);

describe('what was planted is found nowhere in the JSON of a result with every add-on on', () => {
  test.each(['MARKER', 'MASK'] as const)('%s', { timeout: 60_000 }, async (form) => {
    let planted = 0;
    const check = async (talk: PlantedSecrets[], channels: number): Promise<void> => {
      const lines = talk.flatMap((one) => one.lines);
      const utterances = lines.flatMap((line, i) => [
        spoken(line, i * 10, { speaker: 7 }),
        ...(channels === 2
          ? [spoken('Okay, one moment.', i * 10 + 1, { channel: 1, speaker: 3 })]
          : []),
      ]);
      const result = await resultFor(
        { ...everything, pii_redaction: true, pii_redaction_config: { processed_text_type: form } },
        utterances,
        {
          language: runnerHere(echo),
          diarization: { ...succeeded(utterances, performance.now()) },
        },
      );
      const text = JSON.stringify(result).toLowerCase();
      for (const secret of talk.flatMap((one) => one.secrets)) {
        planted += 1;
        expect(text).not.toContain(secret.toLowerCase());
        expect(text).not.toContain(secret.toLowerCase().replaceAll(' ', ''));
      }
      expect(result.pii_redaction).toBeUndefined();
      expect(result.transcription?.full_transcript).toMatch(form === 'MASK' ? /##/ : /_1\]/);
    };
    const talks = fc.array(secretTalk, { minLength: 1, maxLength: 6 });
    await fc.assert(fc.asyncProperty(talks, fc.constantFrom(1, 2), check), { numRuns: 60 });
    console.log(`${form}: ${planted} secrets planted`);
  });
});

const call = [
  spoken('Hello, my name is Laura Achterberg.', 0),
  spoken('Hello Laura, this is Marcus.', 5, { channel: 1 }),
  spoken('It says Achterberg on the parcel.', 10),
];

test('an entity has one number over the whole result, whoever says it and wherever it stands', async () => {
  const result = await resultFor({ pii_redaction: true, named_entity_recognition: true }, call);
  expect(result.transcription?.full_transcript).toBe(
    'Hello, my name is [NAME_1]. Hello [NAME_2], this is [NAME_3]. It says [NAME_1] on the parcel.',
  );
  expect(result.named_entity_recognition?.results?.map(({ text }) => text)).toEqual([
    '[NAME_1]',
    '[NAME_2]',
    '[NAME_3]',
    '[NAME_1]',
  ]);
  const words = result.transcription?.utterances[0]?.words.map(({ word }) => word).join('');
  expect(words).toBe('Hello, my name is [NAME_1].');
});

test('a mask keeps the length of every word', async () => {
  const masked = { pii_redaction: true, pii_redaction_config: { processed_text_type: 'MASK' } };
  const result = await resultFor(masked, call.slice(0, 1));
  expect(result.transcription?.full_transcript).toBe('Hello, my name is ##### ##########.');
});

test('words that say more than the text do not leave', async () => {
  const words = spoken('my name is Laura Bennett', 0).words;
  const utterance: Utterance = { ...spoken('Hello there.', 0), words };
  const result = await resultFor({ pii_redaction: true }, [utterance]);
  expect(JSON.stringify(result)).not.toContain('Laura');
});

describe('a text that could not be looked through does not leave, and the result says so', () => {
  const broken = {
    ...failed(504, 'LanguageDeadline', 'too slow', performance.now()),
    results: null,
  };

  test('when one utterance stops the thread, it alone is hidden', async () => {
    const many = Array.from({ length: 90 }, (_, i) => spoken(i === 50 ? 'the poison' : 'fine', i));
    const language = runnerHere({
      redactAll: (input) =>
        input.pieces.some(({ text }) => text.includes('poison'))
          ? broken
          : performTask('redactAll', input),
    });
    const result = await resultFor({ pii_redaction: true }, many, { language });
    const texts = result.transcription?.utterances.map(({ text }) => text);
    expect(texts?.filter((text) => text === 'fine')).toHaveLength(89);
    expect(texts?.[50]).toBe('[REDACTED]');
    expect(result.pii_redaction).toMatchObject({
      success: false,
      error: { status_code: 504, exception: 'LanguageDeadline' },
      results: null,
    });
  });

  test.each(['redactAll', 'redactKnown'] as const)(
    'when %s never answers, all of it is',
    async (task) => {
      const language = runnerHere({ ...echo, [task]: () => broken });
      const body = { ...everything, pii_redaction: true };
      const result = await resultFor(body, call, { language });
      expect(result.pii_redaction).toMatchObject({ success: false });
      const text = JSON.stringify(result);
      for (const name of ['Laura', 'Achterberg', 'Marcus']) expect(text).not.toContain(name);
      expect(result.transcription?.utterances.every((one) => one.text === '[REDACTED]')).toBe(true);
    },
  );
});

test('a type that nothing finds is refused by name, a preset is not', () => {
  const reasonFor = (entity_types: string[]): string | undefined => {
    const parsed = parsePreRecordedRequest({
      audio_url: 'https://files.example/a.wav',
      pii_redaction: true,
      pii_redaction_config: { entity_types },
    });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed));
    return whyNotDoable(parsed.request);
  };
  expect(reasonFor(['NAME', 'CORPORATE_ACTION'])).toMatch(
    /^pii_redaction_config\.entity_types\.1 is an/,
  );
  expect(reasonFor([...Object.keys(entityPresets), 'NAME', 'CVV'])).toBeUndefined();
});
