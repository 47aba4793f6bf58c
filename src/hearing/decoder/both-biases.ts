import type { TokenBias } from './beam-search.ts';

type BothStates = { readonly first: object; readonly second: object };

/** Combines two preferences: the changes of both are added. */
export class BothBiases implements TokenBias {
  readonly start: BothStates;
  readonly #first: TokenBias;
  readonly #second: TokenBias;

  constructor(first: TokenBias, second: TokenBias) {
    this.#first = first;
    this.#second = second;
    this.start = { first: first.start, second: second.start };
  }

  continuing(...[state, said]: Parameters<TokenBias['continuing']>): number[] {
    const { first, second } = state as BothStates;
    return [...this.#first.continuing(first, said), ...this.#second.continuing(second, said)];
  }

  after(...[state, token, logProbability]: Parameters<TokenBias['after']>) {
    const both = state as BothStates;
    const first = this.#first.after(both.first, token, logProbability);
    const second = this.#second.after(both.second, token, logProbability);
    return {
      state: { first: first.state, second: second.state },
      change: first.change + second.change,
    };
  }
}
