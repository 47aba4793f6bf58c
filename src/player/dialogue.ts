import { randomBytes } from 'node:crypto';

// The carrier's side of a protocol, as the player speaks it. It does no input or output, like the codecs on our side.

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
  /** The format of control messages, for carriers that offer two formats. */
  controlFormat: 'plain-text' | 'json';
};

export type Frame = string | Buffer;

/** The carrier's side of one stream. A numbered frame gets its number when it is made, even if it is never sent. */
export type Dialogue = {
  opening(): Frame[];
  /** Makes the messages for one frame of audio of each leg that still has audio. */
  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[];
  /** Returns the carrier's answers to a message of the bridge. */
  received(
    text: string,
    atMs: number,
  ): { send: Frame[]; ready?: boolean; paused?: boolean; over?: boolean };
  /** Returns the messages that end the call. Some carriers send none and only close the socket. */
  closing(atMs: number): Frame[];
  dtmf?(digit: string, atMs: number): Frame[];
  /** False if audio must wait for the bridge's answer to the opening messages. */
  readonly readyAtOnce: boolean;
  /** True if the player must wait for the bridge's permission to close the socket. */
  readonly waitsForOver: boolean;
};

/** The secrets of a player. Each carrier uses the ones that its kind of proof needs. */
export type PlayerSecrets = {
  authToken?: string | undefined;
  apiKey?: string | undefined;
  clientSecret?: string | undefined;
  bearer?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
};

/**
 * Everything that the player knows about a carrier. Each carrier's own folder exports it, and the caller passes it in.
 */
export type CarrierPlayer = {
  name: string;
  /** The default length of a frame. */
  frameMs: number;
  encodings: readonly Encoding[];
  protocols?: readonly string[];
  /** Set if a call of two parties consists of two streams. */
  oneLegPerStream?: true;
  /** Set if the carrier sends all parties in one mixed channel. */
  mixesLegs?: true;
  newIds(): { callId: string; streamId: string };
  /** True if these secrets are sufficient proof. Otherwise the player asks for a stream token. */
  canProve(secrets: PlayerSecrets): boolean;
  headers(url: string, call: PlayedCall, secrets: PlayerSecrets): Record<string, string>;
  /** The parameters of the call that are added to the stream's address. */
  addressParameters?(call: PlayedCall): Record<string, string>;
  newDialogue(call: PlayedCall): Dialogue;
  /** Reads the ids from a recorded text of this carrier. Undefined for other texts. */
  recordedIds(
    text: string,
    message: Record<string, unknown>,
  ): { callId: string; streamId: string } | undefined;
  /** For replays: makes the upgrade headers that must agree with the recorded texts. */
  recordedHeaders?(texts: readonly string[]): Record<string, string>;
  /**
   * For replays: returns the text with `lastSeq`, the number of the bridge's last message, in place of the recorded
   * one.
   */
  retold?(text: string, lastSeq: number): string;
};

/** The carrier's name for a party's track, on a stream of the customer's leg. */
export function trackOf(leg: 'customer' | 'agent'): 'inbound' | 'outbound' {
  return leg === 'customer' ? 'inbound' : 'outbound';
}

export function newNonce(): string {
  return randomBytes(18).toString('base64');
}
