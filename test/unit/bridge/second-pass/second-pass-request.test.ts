import { expect, test } from 'vitest';
import { jobRequest } from '../../../../src/bridge/second-pass/second-pass-request.ts';

const configOf = (spoken: string[][], asked?: object): unknown =>
  jobRequest({
    ...{ audioUrl: 'https://audio.example/', callId: 'call_1', passId: 'pass_1', spoken },
    ...{ piece: undefined, model: undefined, isMixed: false, overrides: {} },
    template: asked === undefined ? {} : { language_config: asked },
  })['language_config'];

test('a recording is read in the languages that were heard, each utterance in its own where there are several', () => {
  expect(configOf([['es'], ['es']])).toEqual({ languages: ['es'] });
  expect(configOf([['en', 'es'], ['en']])).toEqual({
    languages: ['en', 'es'],
    code_switching: true,
  });
  expect(configOf([['es'], ['en']], { languages: ['en', 'es', 'fr'] })).toEqual({
    languages: ['es', 'en'],
    code_switching: true,
  });
});

test('where a party was not heard surely, its language is found as in the call', () => {
  expect(configOf([['es'], []])).toEqual({ languages: [] });
  expect(configOf([['es', 'en'], []], { languages: ['en', 'es', 'fr'] })).toEqual({
    languages: ['en', 'es', 'fr'],
    code_switching: true,
  });
  expect(configOf([[], []], { languages: ['fr', 'de'] })).toEqual({ languages: ['fr', 'de'] });
  expect(configOf([])).toBeUndefined();
  expect(configOf([['no such language']])).toBeUndefined();
});
