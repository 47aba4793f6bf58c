import { transcriptionLanguages } from '../../protocol/languages.ts';
import { sessionFields } from '../session/session-request.ts';

type JobFacts = {
  audioUrl: string;
  callId: string;
  passId: string;
  /** The number of the piece, from 1. Undefined if the recording is read as a whole. */
  piece: number | undefined;
  model: string | undefined;
  /** True if several parties share one channel, so that voices must be told apart. */
  isMixed: boolean;
  /** The session fields from the configuration and from this call's own parameters. */
  template: Record<string, unknown>;
  overrides: Record<string, unknown>;
  /** The languages that were sure on each leg of the call. */
  spoken: readonly (readonly string[])[];
};

/** Builds the metadata by which a job is found again if the answer to its request was lost. */
export function jobMetadata(passId: string, piece?: number): Record<string, unknown> {
  return { second_pass: passId, piece };
}

/**
 * The body of `POST /v2/pre-recorded`. It asks for words only, with the language and vocabulary of the call's
 * sessions. The bridge itself makes everything derived from the words, after its redaction. Pure.
 */
export function jobRequest(facts: JobFacts): Record<string, unknown> {
  const fields = sessionFields(facts.template, facts.overrides);
  const processing = (fields['realtime_processing'] ?? {}) as Record<string, unknown>;
  const taken = ['custom_vocabulary', 'custom_spelling'].flatMap((name) =>
    [name, `${name}_config`]
      .filter((key) => processing[key] !== undefined)
      .map((key) => [key, processing[key]]),
  );
  const model = facts.model ?? fields['model'];
  return {
    audio_url: facts.audioUrl,
    model,
    language_config: languageConfig(fields['language_config'], facts.spoken),
    ...(Object.fromEntries(taken) as Record<string, unknown>),
    ...(facts.isMixed ? { diarization: true } : {}),
    custom_metadata: { call_id: facts.callId, ...jobMetadata(facts.passId, facts.piece) },
  };
}

/**
 * The language of the sessions, or those that were heard in the call. A job finds its language once, so a call that
 * changed its language must say that utterances differ: the rest would be read in the wrong one.
 */
function languageConfig(asked: unknown, spoken: readonly (readonly string[])[]): unknown {
  const own = spoken.map((codes) => codes.filter((code) => transcriptionLanguages.includes(code)));
  const heard = [...new Set(own.flat())];
  if (heard.length === 0) return asked;
  const config = (asked ?? {}) as Record<string, unknown>;
  const languages = own.every((codes) => codes.length > 0) ? heard : (config['languages'] ?? []);
  return { ...config, languages, ...(heard.length > 1 ? { code_switching: true } : {}) };
}
