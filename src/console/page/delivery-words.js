/** @import { ApiDelivery } from './shapes.ts' */

/** @type {Record<ApiDelivery['state'], string>} */
export const deliveryStates = {
  pending: 'Pending',
  delivered: 'Delivered',
  parked: 'Parked',
  skipped: 'Skipped',
};

/**
 * The kinds of events that an endpoint may get, in the words of a person.
 * @type {[string, string][]}
 */
export const eventKinds = [
  ['call.started', 'Call started'],
  ['call.transcript', 'Words'],
  ['call.sentiment', 'Mood'],
  ['call.entities', 'Names and numbers'],
  ['call.translation', 'Translation'],
  ['call.gap', 'Missing audio'],
  ['call.paused', 'Paused'],
  ['call.resumed', 'Resumed'],
  ['call.dtmf', 'Key pressed'],
  ['call.ended', 'Call ended'],
  ['call.summary', 'Summary'],
  ['call.completed', 'Whole call'],
  ['call.wrapped', 'Wrap-up'],
  ['call.transcript.revised', 'Words of the recording'],
  ['call.warning', 'Warning'],
  ['call.erased', 'Erased'],
];
