import type { Dialogue, Frame, PlayedCall } from '../../player/dialogue.ts';
import { interleave } from './interleaving.ts';

type BinaryTexts = {
  /** The first text message; undefined if the carrier's streams begin with audio. */
  opening: string | undefined;
  dtmf(digit: string): string;
};

/**
 * Plays the carrier's side of these protocols. It sends one opening text, then the interleaved samples of all legs. The
 * close of the socket is the end.
 */
export class BinaryDialogue implements Dialogue {
  readonly readyAtOnce = true;
  readonly waitsForOver = false;
  readonly #legs: PlayedCall['legs'];
  readonly #texts: BinaryTexts;

  constructor({ legs }: Pick<PlayedCall, 'legs'>, texts: BinaryTexts) {
    this.#legs = legs;
    this.#texts = texts;
  }

  opening(): Frame[] {
    return this.#texts.opening === undefined ? [] : [this.#texts.opening];
  }

  media(frames: { leg: 'customer' | 'agent'; bytes: Buffer }[]): Frame[] {
    const parts = this.#legs.map(
      (name) => frames.find(({ leg }) => leg === name)?.bytes ?? Buffer.alloc(0),
    );
    return [interleave(parts, 2, 0)];
  }

  received(): { send: Frame[] } {
    return { send: [] };
  }

  dtmf(digit: string): Frame[] {
    return [this.#texts.dtmf(digit)];
  }

  closing(): Frame[] {
    return [];
  }
}
