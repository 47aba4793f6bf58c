import { TrunklineError } from '../lib/errors.ts';

export const filterHelp =
  'a filter of the API, such as mood=negative, tag=refund or min_duration=60; may be given several times';

export function addFilter(given: string, before: readonly string[]): string[] {
  return [...before, given];
}

/** The running process knows the filters, and names them to somebody who mistypes one. */
export function setFilters(query: URLSearchParams, filters: readonly string[]): void {
  for (const filter of filters) {
    const [, name, value] = /^([a-z_]+)=(.+)$/s.exec(filter) ?? [];
    if (name === undefined || value === undefined)
      throw new TrunklineError(
        'BAD_INPUT',
        `--filter ${filter}: write NAME=VALUE, such as mood=negative`,
      );
    query.set(name, value);
  }
}
