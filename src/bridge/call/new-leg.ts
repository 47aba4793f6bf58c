import { newId } from '../../lib/ids.ts';
import type { BridgeConfig } from '../config.ts';
import { legMetadata, type CallRecord } from '../records/call-record.ts';
import { isSameFormat, type LegRecord } from '../records/leg-record.ts';
import { roleOf } from '../roles.ts';
import type { LegRequest } from '../session/leg-request.ts';
import {
  sessionFields,
  sessionRequest,
  withoutSentiment,
  withVocabulary,
} from '../session/session-request.ts';
import { wordsOfQuestions } from '../../language/redaction/redaction-names.ts';
import type { StreamStart } from '../streams.ts';
import type { CallLeg } from './call-leg.ts';
import type { CallEnvironment } from './environment.ts';

/** The open leg that a track of another stream goes on with: the one of its name and format. */
export function goingLeg(
  legs: readonly CallLeg[],
  { encoding, sampleRate }: StreamStart,
  { name, channels }: StreamStart['tracks'][number],
): LegRecord | undefined {
  const format = { encoding, sampleRate, channels };
  return legs.find(
    ({ record, isDone }) => !isDone && record.track === name && isSameFormat(record, format),
  )?.record;
}

/** Makes the leg of a track that is new to the call. */
export function newLeg(
  start: StreamStart,
  track: StreamStart['tracks'][number],
  direction: CallRecord['direction'],
  { config, clock }: Pick<CallEnvironment, 'config' | 'clock'>,
): LegRecord {
  const by = { carrier: start.carrier, direction, track: track.name };
  return {
    id: newId('leg', clock.now()),
    role: track.role ?? roleOf(config.roles, by),
    channelRoles: config.stereoRoles,
    track: track.name,
    startedAt: clock.now(),
    encoding: start.encoding,
    sampleRate: start.sampleRate,
    channels: track.channels,
  };
}

/** The sessions of the legs go on with what the call asks for now. */
export function changeRequests(
  legs: readonly CallLeg[],
  call: CallRecord,
  config: BridgeConfig,
): void {
  for (const leg of legs)
    if (!leg.isDone) leg.audio.changeRequest(requestOf(leg.record, call, config));
}

/** The languages that the sessions of a call ask for. None: the language is to be found. */
export function languagesOf(
  { overrides }: Pick<CallRecord, 'overrides'>,
  { session: template }: Pick<BridgeConfig, 'session'>,
): readonly string[] {
  const fields = sessionFields(template, overrides) as {
    language_config?: { languages?: string[] };
  };
  return fields.language_config?.languages ?? [];
}

/**
 * The request of the leg's sessions: the installation's template with this call's overrides. Where secrets are to be
 * taken out, the words of the questions for them are listened for.
 */
export function requestOf(leg: LegRecord, call: CallRecord, config: BridgeConfig): LegRequest {
  const { role, track } = leg;
  const { session: template, redactEntities } = config;
  const languages = languagesOf(call, config);
  const isEnglish = languages.length === 0 || languages.includes('en');
  const words = isEnglish ? wordsOfQuestions(redactEntities) : [];
  const overrides = { ...call.overrides, ...withVocabulary(template, call.overrides, words) };
  const isFelt = config.agentSentiment || hasCustomer(leg);
  return sessionRequest({
    template,
    overrides: isFelt ? overrides : withoutSentiment(overrides),
    format: leg,
    metadata: legMetadata(call.metadata, { legId: leg.id, role, track }),
  }) as LegRequest;
}

/** True for a leg on which a customer speaks alone, or in a channel of their own. */
function hasCustomer({ channels, role, channelRoles }: LegRecord): boolean {
  return channels === 2 ? channelRoles.includes('customer') : role === 'customer';
}
