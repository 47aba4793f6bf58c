import { sessionFields } from '../session/session-request.ts';

type JobFacts = {
  audioUrl: string;
  callId: string;
  passId: string;
  /** The number of the piece, from 1; undefined where the recording is read whole. */
  piece: number | undefined;
  model: string | undefined;
  /** Whether several parties are in one channel, and the voices are to be told apart. */
  isMixed: boolean;
  /** The configured fields of sessions, and those that this call's own parameters set. */
  template: Record<string, unknown>;
  overrides: Record<string, unknown>;
};

/** What a job is found again by, when the answer to its request was lost. */
export function jobMetadata(passId: string, piece?: number): Record<string, unknown> {
  return { second_pass: passId, ...(piece === undefined ? {} : { piece }) };
}

/**
 * Body of POST /v2/pre-recorded: the words alone, in the language and with the vocabulary of the call's sessions. What
 * is said about the words is made by the bridge, after its redaction. Pure.
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
    ...(model === undefined ? {} : { model }),
    ...(language === undefined ? {} : { language_config: language }),
    ...(Object.fromEntries(taken) as Record<string, unknown>),
    ...(facts.isMixed ? { diarization: true } : {}),
    custom_metadata: { call_id: facts.callId, ...jobMetadata(facts.passId, facts.piece) },
  };
}
