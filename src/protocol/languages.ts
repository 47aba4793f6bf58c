import { z } from 'zod';

const codes =
  'af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy id is ' +
  'it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk sl ' +
  'sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh';

const transcription: string[] = codes.split(' ');

/** Languages that a session or job can transcribe, in ISO 639-1, except `haw`, and `jw` for Javanese. */
export const TranscriptionLanguage = z
  .enum(transcription)
  .meta({ id: 'TranscriptionLanguage', description: 'A language to transcribe.' });

/** Languages that a transcript can be translated to: the same, plus Wolof. */
export const TranslationLanguage = z
  .enum([...transcription, 'wo'])
  .meta({ id: 'TranslationLanguage', description: 'A language to translate to.' });

export type TranscriptionLanguage = z.infer<typeof TranscriptionLanguage>;
export type TranslationLanguage = z.infer<typeof TranslationLanguage>;

export const transcriptionLanguages: readonly string[] = TranscriptionLanguage.options;

/** The languages of `model-3`, which is for files and accepts exactly one of them. */
export const model3Languages: readonly string[] = ['en', 'fr', 'de', 'es', 'it'];
