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
  const language = fields['language_config'];
  const model = facts.model ?? fields['model'];
  return {
    audio_url: facts.audioUrl,
    model,
    language_config: language,
    ...(Object.fromEntries(taken) as Record<string, unknown>),
    ...(facts.isMixed ? { diarization: true } : {}),
    custom_metadata: { call_id: facts.callId, ...jobMetadata(facts.passId, facts.piece) },
  };
}
