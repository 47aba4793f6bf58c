import { randomBytes } from 'node:crypto';

// A carrier's side of its protocol, as the player speaks it: pure, like the codecs on our side.

export type Encoding = 'mulaw' | 'alaw' | 'slin';

export type PlayedCall = {
  callId: string;
  streamId: string;
  /** The legs of the call, the customer first. */
  legs: ('customer' | 'agent')[];
  encoding: Encoding;
  rateHz: number;
  from: string;
  to: string;
  direction: 'inbound' | 'outbound';
  parameters: Record<string, string>;
  /** For carriers whose control messages have two formats. */
  controlFormat: 'plain-text' | 'json';
};

export type Frame = string | Buffer;

/**
 * One carrier's side of one stream. Numbered frames get their number when they are made, whether they are sent or
 * not.
 */
export type Dialogue = {
  opening(): Frame[];
  /** Makes the frames for one frame's length of audio, of all legs that still have audio. */
  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[];
  /** Answers to a message of the bridge. */
  received(
    text: string,
    atMs: number,
  ): { send: Frame[]; ready?: boolean; paused?: boolean; over?: boolean };
  /** The messages that end the call. For some carriers only the close of the socket ends it. */
  closing(atMs: number): Frame[];
  dtmf?(digit: string, atMs: number): Frame[];
  /** False when audio must wait for an answer to the opening. */
  readonly readyAtOnce: boolean;
  /** True when the other side says when the socket may close. */
  readonly waitsForOver: boolean;
};

/** The secrets of a player. Each carrier uses those of its own kind of proof. */
export type PlayerSecrets = {
  authToken?: string | undefined;
  apiKey?: string | undefined;
  clientSecret?: string | undefined;
  bearer?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
};

/** A carrier as the player knows it. Each one is written in the carrier's own folder and passed in. */
export type CarrierPlayer = {
  name: string;
  /** Default length of a frame. */
  frameMs: number;
  encodings: readonly Encoding[];
  protocols?: readonly string[];
  /** A call of two parties is two streams. */
  oneLegPerStream?: true;
  /** All parties are heard in one channel. */
  mixesLegs?: true;
  newIds(): { callId: string; streamId: string };
  /** True if these secrets are sufficient proof. Otherwise the player asks for a stream token. */
  canProve(secrets: PlayerSecrets): boolean;
  headers(url: string, call: PlayedCall, secrets: PlayerSecrets): Record<string, string>;
  /** The call's parameters that the stream's address contains. */
  addressParameters?(call: PlayedCall): Record<string, string>;
  newDialogue(call: PlayedCall): Dialogue;
  /** The ids in a recorded text of this carrier. Undefined for texts of other kinds or of other carriers. */
  recordedIds(
    text: string,
    message: Record<string, unknown>,
  ): { callId: string; streamId: string } | undefined;
  /** For replays: headers of the upgrade that must agree with the recorded texts. */
  recordedHeaders?(texts: readonly string[]): Record<string, string>;
  /** For replays: the text with the number of the last answer, `lastSeq`, put in. */
  retold?(text: string, lastSeq: number): string;
};

/** The carrier's word for a party, on a stream of the customer's leg. */
export function trackOf(leg: 'customer' | 'agent'): 'inbound' | 'outbound' {
  return leg === 'customer' ? 'inbound' : 'outbound';
}

export function newNonce(): string {
  return randomBytes(18).toString('base64');
}
