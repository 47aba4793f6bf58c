/** How a player's half of a carrier's protocol is written: pure, like the codecs on the other side. */
export const playedCarriers = [
  'twilio',
  'telnyx',
  'audiohook',
  'asterisk',
  'signalwire',
  'plivo',
] as const;
export type PlayedCarrier = (typeof playedCarriers)[number];

export type Encoding = 'mulaw' | 'alaw' | 'slin';

export type PlayedCall = {
  callId: string;
  streamId: string;
  /** Which legs there are, the customer first. */
  legs: ('customer' | 'agent')[];
  encoding: Encoding;
  rateHz: number;
  from: string;
  to: string;
  direction: 'inbound' | 'outbound';
  parameters: Record<string, string>;
  /** Asterisk has two forms of control messages. */
  controlFormat: 'plain-text' | 'json';
};

export type Frame = string | Buffer;

/** One carrier's side of one stream. Frames that are numbered get their number when they are made, sent or not. */
export type Dialogue = {
  opening(): Frame[];
  /** The audio of one frame's length, of all legs that still speak. */
  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[], atMs: number): Frame[];
  /** Answers to a message of the bridge. */
  received(
    text: string,
    atMs: number,
  ): { send: Frame[]; ready?: boolean; paused?: boolean; over?: boolean };
  /** What says that the call is over; for some it is only the close of the socket. */
  closing(atMs: number): Frame[];
  dtmf?(digit: string, atMs: number): Frame[];
  /** False when audio must wait for an answer to the opening. */
  readonly readyAtOnce: boolean;
  /** True when the other side says when the socket may close. */
  readonly waitsForOver: boolean;
};

export type PlayerSecrets = {
  twilioAuthToken?: string | undefined;
  plivoAuthToken?: string | undefined;
  audiohookApiKey?: string | undefined;
  audiohookClientSecret?: string | undefined;
  bearer?: string | undefined;
  username?: string | undefined;
  password?: string | undefined;
};

export type CarrierVoice = {
  name: PlayedCarrier;
  /** Default length of a frame. */
  frameMs: number;
  encodings: readonly Encoding[];
  protocols?: readonly string[];
  newIds(): { callId: string; streamId: string };
  headers(url: string, call: PlayedCall, secrets: PlayerSecrets): Record<string, string>;
  newDialogue(call: PlayedCall): Dialogue;
};
