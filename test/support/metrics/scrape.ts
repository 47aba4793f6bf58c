/** One line of `/metrics`. */
export type Sample = { name: string; labels: Record<string, string>; value: number };

export function samplesIn(exposition: string): Sample[] {
  return exposition
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
      return {
        name,
        labels: Object.fromEntries(pairs.map(([, key = '', text = '']) => [key, text])),
        value: Number(value.replace('Inf', 'Infinity')),
      };
    });
}

/** The sum of the samples with this name and these labels, or undefined without any. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** Reads the metrics of a process as an operator's Prometheus does. */
export async function scrape(app: { get(path: string): Promise<Response> }): Promise<Sample[]> {
  return samplesIn(await (await app.get('/metrics')).text());
}
