import type { Installation } from '../protocol/api.ts';

type Feature = Installation['features'][number];

/** The settings that decide what is on. */
export type FeatureSettings = {
  http: { publicUrl?: string | undefined; apiKeys: readonly string[] };
  bridge: {
    redactEntities: readonly string[];
    retentionDays: { calls: number; recordings: number };
  };
  language: { llmUrl?: string | undefined; llmModel?: string | undefined };
  speech: { url?: string | undefined };
};

/** The features that settings turn on, for the page's one look. Those with a state of their own are not here. */
export function featuresOf(
  { http, bridge, language, speech }: FeatureSettings,
  isRecording: boolean,
): Feature[] {
  const { calls, recordings } = bridge.retentionDays;
  const isKeyed = http.apiKeys.length > 0;
  return [
    http.publicUrl === undefined
      ? off(
          'Public address',
          'Carriers and links elsewhere cannot reach this machine.',
          'TRUNKLINE_PUBLIC_URL',
        )
      : on('Public address', http.publicUrl, 'TRUNKLINE_PUBLIC_URL'),
    isKeyed
      ? on(
          'API keys',
          http.apiKeys.length === 1 ? '1 key' : `${http.apiKeys.length} keys`,
          'TRUNKLINE_API_KEYS',
        )
      : off('API keys', 'Whoever reaches this page may use it.', 'TRUNKLINE_API_KEYS'),
    isRecording
      ? on('Recordings', `kept for ${days(recordings)}`, 'TRUNKLINE_RECORDING')
      : off('Recordings', 'The audio of a call is deleted at its end.', 'TRUNKLINE_RECORDING'),
    on('Calls', `kept for ${days(calls)}`, 'TRUNKLINE_RETENTION_DAYS_CALLS'),
    bridge.redactEntities.length > 0
      ? on('Redaction', bridge.redactEntities.join(', '), 'TRUNKLINE_REDACT')
      : off('Redaction', 'Numbers and names are stored as they are said.', 'TRUNKLINE_REDACT'),
    ...(speech.url === undefined
      ? []
      : [
          on(
            'Speech service',
            new URL(speech.url.split(',')[0] ?? '').host,
            'TRUNKLINE_SPEECH_URL',
          ),
        ]),
    language.llmUrl === undefined
      ? off(
          'Language model',
          'Summaries are made of the call’s own sentences.',
          'TRUNKLINE_LLM_URL',
        )
      : on('Language model', language.llmModel ?? language.llmUrl, 'TRUNKLINE_LLM_URL'),
  ];
}

function on(name: string, detail: string, setting: string): Feature {
  return { name, on: true, detail, setting };
}

function off(name: string, detail: string, setting: string): Feature {
  return { name, on: false, detail, setting };
}

function days(count: number): string {
  return count === 1 ? '1 day' : `${count} days`;
}
